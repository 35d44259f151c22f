/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a co-located job is charged: the price policies. */
#ifndef POPPA_ACCOUNTING_PRICE_H
#define POPPA_ACCOUNTING_PRICE_H

#include <stdint.h>

#include "common/errmsg.h"

/*
 * raw is what Slurm charges for the time the job took, stopped = Z is the fraction of that time for
 * which POPPA held it stopped, D the degradation over the rest.
 */
enum price_policy {
	PRICE_THESIS, /* raw * (1-Z) * (1-D)^2: (1-D) of the solo price (thesis 3.4, equations 3.1
			 to 3.4) */
	PRICE_SOLO,   /* raw * (1-Z) * (1-D): the solo price */
	PRICE_NONE,   /* raw */
};

/* The policy called name; 0, or -1 with err that lists the names. */
int price_policy_parse(const char *name, enum price_policy *policy, struct errmsg *err);
const char *price_policy_name(enum price_policy policy);

/*
 * The charge, in the unit of raw, rounded to the nearest whole number, halves up. Never more than
 * raw and never below 0: a D below 0 counts as 0 and one above 1 as 1, and so does Z. A D that is
 * not a number means no data: the charge is then raw, whole, whatever Z.
 */
uint64_t price_charge(enum price_policy policy, uint64_t raw, double degradation, double stopped);

#endif
