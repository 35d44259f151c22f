/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes what a co-located job is charged. */
#pragma once

#include <stdint.h>

#include "common/price_policy.h"

/* The version of the rates in price_kinds[]. It goes up when a rate changes what a job pays. */
#define PRICE_VERSION 2

/* How a charge comes about; amounts in the unit of raw. */
struct price_steps {
	double stopped;     /* Z, 0 to 1 */
	double degradation; /* the D that counts, 0 to 1; NAN = no data */
	double full;        /* raw * (1-Z): without a degradation */
	double product;     /* full, times the rate of the policy's kind or of its cap */
	double amount;      /* what is charged before it is rounded: the product or the floor */
	bool capped;        /* the rate is the cap's */
	bool floored;       /* the amount is the floor's */
};

/*
 * D and Z below 0 count as 0, above 1 as 1; a Z of NAN counts as 0. hi is the upper end of D's
 * interval; where hi is NAN, D takes its place. A D of NAN means no data: the amount is then
 * raw*(1-Z) under every policy.
 */
struct price_steps price_steps(const struct price_policy *policy, uint64_t raw, double degradation,
	double hi, double stopped);

/* The charge, in the unit of raw: the amount of the steps, rounded half up to a whole number. Never
 * more than raw. */
uint64_t price_charge(const struct price_policy *policy, uint64_t raw, double degradation,
	double hi, double stopped);
