/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charges bills as another price policy would have charged them. */
#pragma once

#include "accounting/bill/bill.h"

/*
 * Puts into each bill's billing what the policy makes of the raw price, the degradation and the
 * stopped time that were measured. Without data that is raw * (1-Z), and without a price it stays
 * what Slurm now charges. A price that was changed by hand is made anew, too. Nothing else of the
 * bills changes: facts are those of the settlement.
 */
void bills_what_if(struct bills *bills, const struct price_policy *policy);
