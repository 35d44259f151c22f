/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes charges by a policy: its kind's rate, its limits, and rounding. */
#include "accounting/record/price.h"

#include <math.h>

static double unit(double v)
{
	return fmin(fmax(v, 0), 1);
}

struct price_steps price_steps(const struct price_policy *policy, uint64_t raw, double degradation,
	double hi, double stopped)
{
	/* fmax() also turns an unknown stopped time into none. */
	struct price_steps s = {.stopped = unit(stopped), .degradation = NAN};
	double rate = 1, least;

	s.full = (double)raw * (1 - s.stopped);
	if (!isnan(degradation)) {
		s.degradation = unit(policy->upper ? fmax(hi, degradation) : degradation);
		rate = price_kinds[policy->kind].rate(policy, s.degradation);
		s.capped = rate < 1 - policy->cap;
		rate = fmax(rate, 1 - policy->cap);
	}
	s.product = s.full * rate;
	least = fmin(s.full, (double)policy->floor);
	s.floored = s.product < least;
	s.amount = fmax(s.product, least);
	return s;
}

uint64_t price_charge(const struct price_policy *policy, uint64_t raw, double degradation,
	double hi, double stopped)
{
	double charge = floor(price_steps(policy, raw, degradation, hi, stopped).amount + 0.5);

	return charge < (double)raw ? (uint64_t)charge : raw;
}
