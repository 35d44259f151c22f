/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charges bills as another price policy would have charged them. */
#include "accounting/bill/what_if.h"

#include <math.h>

static uint64_t charge(const struct bill *b, const struct price_policy *policy)
{
	const struct settlement *f = b->facts;
	double degradation = b->status == BILL_PRICED ? f->degradation : NAN;

	return price_charge(policy, f->raw, degradation, f->hi, f->stopped);
}

void bills_what_if(struct bills *bills, const struct price_policy *policy)
{
	for (int i = 0; i < bills->count; i++) {
		struct bill *b = &bills->bill[i];

		if (b->status != BILL_PRICED && b->status != BILL_NO_DATA)
			continue;
		/* A resized run has one price, that of its last size; earlier ones have its share.
		 */
		b->billing = b->last ? settlement_share(b->facts->raw, charge(b->last, policy),
					       b->last->facts->raw)
				     : charge(b, policy);
	}
}
