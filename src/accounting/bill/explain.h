/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works a price out step by step, for people who want to check it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/record/price.h"

/* What a price is made of, and by how much each number may be off because it was rounded. */
struct explain_facts {
	uint64_t raw;
	double degradation, hi, stopped; /* hi and stopped may be NAN: unknown */
	double degradation_off, hi_off, stopped_off;
};

struct explain {
	char formula[256];  /* with names: "raw x (1 - Z) x (1 - D)^2" */
	char numbers[256];  /* the same with the numbers: "1000 x (1 - 0.0061) x (1 - 0.2)^2" */
	double product;     /* the result of the numbers as they are written */
	double amount;      /* what is charged before it is rounded: the product, or the floor */
	bool capped;        /* the cap holds: the formula is the cap's */
	bool floored;       /* the floor holds: the amount is not the product */
	double degradation; /* the D that counts, 0 to 1: a policy may take the interval's end */
	double solo;        /* what the job would have paid alone: raw x (1 - Z) x (1 - D) */
	uint64_t charged;   /* by the facts as they are given */
	uint64_t least,
		most; /* the least and the most charge that the facts before rounding can give */
};

/* facts->degradation is a number. */
void explain_price(
	const struct price_policy *policy, const struct explain_facts *facts, struct explain *out);
