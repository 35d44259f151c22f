/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the credit of jobs for long blocks. */
#include "poppa/measure/long_credit.h"

#include <stddef.h>

void long_credit_add(struct long_credit *c, int64_t beside_ns, double budget, int64_t length_ns)
{
	int64_t most = LONG_CREDIT_MOST * length_ns;

	if (!c->begun)
		c->left_ns = LONG_CREDIT_FIRST * length_ns;
	c->begun = true;
	if (beside_ns > 0) {
		c->beside_ns += beside_ns;
		c->left_ns += (int64_t)(budget * (double)beside_ns);
	}
	if (c->left_ns > most)
		c->left_ns = most;
}

void long_credit_take(struct long_credit *c, int64_t held_ns)
{
	c->left_ns -= held_ns;
}

bool long_credit_suffices(
	const struct long_credit *const *credit, int jobs, int but, int64_t length_ns)
{
	for (int i = 0; i < jobs; i++)
		if (i != but && (!credit[i] || credit[i]->left_ns < length_ns))
			return false;
	return true;
}
