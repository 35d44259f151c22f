/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a co-located job is charged: the formulas. */
#ifndef POPPA_ACCOUNTING_RECORD_PRICE_H
#define POPPA_ACCOUNTING_RECORD_PRICE_H

#include <stdint.h>

#include "common/price_policy.h"

/* Of the formulas of enum price_kind; goes up when one of them changes what a job pays. */
#define PRICE_VERSION 2

/*
 * The charge, in the unit of raw, rounded to the nearest whole number, halves up. Never more than
 * raw and never below 0: a D below 0 counts as 0 and one above 1 as 1, and so does Z. hi is the
 * upper end of D's interval; where it is not a number, D stands for it. A D that is not a number
 * means no data: the charge is then raw*(1-Z), whatever the policy.
 */
uint64_t price_charge(const struct price_policy *policy, uint64_t raw, double degradation,
	double hi, double stopped);

#endif
