/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes what a co-located job is charged. */
#pragma once

#include <stdint.h>

#include "common/price_policy.h"

/* Of the rates in price_kinds[]; goes up when one of them changes what a job pays. */
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
 * D below 0 counts as 0 and above 1 as 1, and so does Z; a Z that is not a number counts as 0. hi
 * is the upper end of D's interval; where it is not a number, D stands for it. A D that is not a
 * number means no data: the amount is then raw*(1-Z), whatever the policy.
 */
struct price_steps price_steps(const struct price_policy *policy, uint64_t raw, double degradation,
	double hi, double stopped);

/* The charge, in the unit of raw: the amount of the steps, rounded to the nearest whole number,
 * halves up. Never more than raw. */
uint64_t price_charge(const struct price_policy *policy, uint64_t raw, double degradation,
	double hi, double stopped);
