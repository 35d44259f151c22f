/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes charges. */
#include "accounting/price.h"

#include <math.h>
#include <strings.h>

static const char *const names[] = {"thesis", "solo", "none"};

int price_policy_parse(const char *name, enum price_policy *policy, struct errmsg *err)
{
	for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
		if (!strcasecmp(name, names[i])) {
			*policy = i;
			return 0;
		}
	return errmsg_set(
		err, "price policy \"%s\" is unknown: choose one of thesis, solo, none", name);
}

const char *price_policy_name(enum price_policy policy)
{
	return names[policy];
}

uint64_t price_charge(enum price_policy policy, uint64_t raw, double degradation, double stopped)
{
	double rate, charge;

	if (policy == PRICE_NONE || isnan(degradation))
		return raw;
	rate = 1 - fmin(fmax(degradation, 0), 1);
	if (policy == PRICE_THESIS)
		rate *= rate;
	/* fmax() also turns an unknown stopped time into none. */
	rate *= 1 - fmin(fmax(stopped, 0), 1);
	if (rate >= 1)
		return raw;
	charge = floor((double)raw * rate + 0.5);
	return charge < (double)raw ? (uint64_t)charge : raw;
}
