/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the decay of usage period by period. */
#include "accounting/settle/decay.h"

#include <math.h>
#include <stdbool.h>

/* PriorityUsageResetPeriod resets at midnight: a multiple of this in every time zone. */
#define MIDNIGHTS_S 900

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/*
 * Whether the charge of the run's end, in the period that begins at `last`, has been reset since. A
 * reset at midnight happens at the end of the period in which midnight lies. Any other time of
 * reset is a tick of Slurm's loop at that time; after a restart the loop ticks at another second.
 */
static bool is_reset(const struct decay *d, int64_t last, int64_t end)
{
	return d->reset_unix > (d->reset_unix % MIDNIGHTS_S ? end : last);
}

double decay_left(const struct decay *d, int64_t start, int64_t end)
{
	double factor = d->half_life_s > 0 ? fmax(1 - 0.693 / d->half_life_s, 0) : 1, ratio, whole;
	int64_t period = d->period_s > 0 ? d->period_s : 1;
	int64_t now = d->last_unix ? d->last_unix : end;
	/* The run ended in the period that begins at `last`, which has decayed for `age`. */
	int64_t last = now + floor_div(end - now, period) * period;
	int64_t age = now > last ? now - last : 0;
	int64_t part = end - (last > start ? last : start), periods, kept;
	double left = 0;

	if (end <= start)
		return 0;
	if (!is_reset(d, last, end))
		left = (double)part * pow(factor, (double)(part + age));
	if (last <= start)
		return left;
	/* The periods before that one. Slurm charges each at its end, after a reset that is due. */
	periods = (last - start) / period;
	part = (last - start) % period;
	kept = last < d->reset_unix ? 0 : (last - d->reset_unix) / period + 1;
	if (kept <= periods) {
		periods = kept;
		part = 0;
	}
	ratio = pow(factor, (double)period);
	whole = (double)period * ratio * pow(factor, (double)age);
	left += ratio < 1 ? whole * (1 - pow(ratio, (double)periods)) / (1 - ratio)
			  : whole * (double)periods;
	/* The run began within the period before these. */
	return left + (double)part * pow(factor, (double)(part + age + periods * period));
}
