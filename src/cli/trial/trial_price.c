/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program would pay for what it loses. */
#include <math.h>

#include "accounting/record/price.h"
#include "cli/trial/trial.h"

/* The price without a discount: large enough that rounding to whole units does not show. */
#define FULL 1000000000

double trial_price(enum price_kind kind, const struct trial_figure *loss)
{
	struct price_policy policy;
	struct errmsg err;

	if (isnan(loss->mean) ||
		price_policy_parse(price_kinds[kind].example.policy, &policy, &err))
		return NAN;
	return (double)price_charge(&policy, FULL, loss->mean, loss->hi, 0) / FULL;
}
