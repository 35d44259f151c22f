/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the account of exploratory starts. */
#include "striping/partners/exploration.h"

#include <math.h>

void exploration_earn(struct exploration *x, double share, double lanes, double seconds)
{
	double kept, most = share * lanes * EXPLORATION_FADES_S;

	if (!(seconds > 0))
		return;
	/* What is saved nears `most`, from above as well as from below. */
	kept = exp(-seconds / EXPLORATION_FADES_S);
	x->saved = x->saved * kept + most * (1 - kept);
}

bool exploration_may(const struct exploration *x, double charge)
{
	return charge > 0 && charge <= x->saved && x->count < EXPLORATION_MOST;
}

void exploration_spend(
	struct exploration *x, uint32_t job_id, double lanes, double seconds, int64_t now)
{
	exploration_end(x, job_id, now);
	x->saved -= lanes * seconds;
	if (x->count < EXPLORATION_MOST)
		x->running[x->count++] = (struct exploration_charge){job_id, now, lanes, seconds};
}

void exploration_end(struct exploration *x, uint32_t job_id, int64_t now)
{
	for (int i = 0; i < x->count; i++) {
		const struct exploration_charge *c = &x->running[i];
		double ran = fmax((double)(now - c->start), 0);

		if (c->job_id != job_id)
			continue;
		x->saved += c->lanes * fmax(c->seconds - ran, 0);
		x->running[i] = x->running[--x->count];
		return;
	}
}
