/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes charges. */
#include "accounting/record/price.h"

#include <math.h>

static double unit(double v)
{
	return fmin(fmax(v, 0), 1);
}

/* What is left of the price at degradation d. */
static double rate_of(const struct price_policy *p, double d)
{
	double rate = 1;

	switch (p->kind) {
	case PRICE_THESIS:
		rate = (1 - d) * (1 - d);
		break;
	case PRICE_SOLO:
		rate = 1 - d;
		break;
	case PRICE_LINEAR:
		rate = unit(1 - p->factor * d);
		break;
	case PRICE_TIERS:
		for (int i = 0; i < p->tiers && d >= p->tier[i].from; i++)
			rate = 1 - p->tier[i].discount;
		break;
	case PRICE_NONE:
		break;
	}
	return fmax(rate, 1 - p->cap);
}

uint64_t price_charge(const struct price_policy *policy, uint64_t raw, double degradation,
	double hi, double stopped)
{
	double d = unit(policy->upper ? fmax(hi, degradation) : degradation);
	/* fmax() also turns an unknown stopped time into none. */
	double full = (double)raw * (1 - unit(stopped));
	double rate = isnan(degradation) ? 1 : rate_of(policy, d);
	double charge = floor(fmax(full * rate, fmin(full, (double)policy->floor)) + 0.5);

	return charge < (double)raw ? (uint64_t)charge : raw;
}
