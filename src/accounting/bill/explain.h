/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works a price out step by step, for people who want to check it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/record/price.h"

/* The facts that a price is made from, and by how much rounding may have changed each (_off). */
struct explain_facts {
	uint64_t raw;
	double degradation, hi, stopped; /* hi and stopped may be NAN: unknown */
	double degradation_off, hi_off, stopped_off;
};

struct explain {
	char formula[256];    /* with names: "raw x (1 - Z) x (1 - D)^2" */
	char numbers[256];    /* the same with the numbers: "1000 x (1 - 0.0061) x (1 - 0.2)^2" */
	double product;       /* the result of the numbers above */
	double amount;        /* the charge before rounding: the product, or the floor */
	bool capped;          /* the cap holds: the formula is the cap's */
	bool floored;         /* the floor holds: the amount is not the product */
	double degradation;   /* the D that counts, 0 to 1: a policy may take the interval's end */
	double solo;          /* what the job would have paid alone: raw x (1 - Z) x (1 - D) */
	uint64_t charged;     /* the charge for the given facts */
	uint64_t least, most; /* bounds of the charge for the facts before they were rounded */
};

/* facts->degradation must be a number. */
void explain_price(
	const struct price_policy *policy, const struct explain_facts *facts, struct explain *out);
