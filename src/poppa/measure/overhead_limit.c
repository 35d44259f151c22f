/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares what shutters cost with what they may cost. */
#include "poppa/measure/overhead_limit.h"

#include <math.h>

#include "common/units.h"
#include "poppa/measure/schedule.h"

#define CHANCE 1.1 /* a cost above `most` by less than this factor may be chance */

int64_t overhead_limit_period(int jobs, int64_t shutter_ns, int64_t period_ns, double most)
{
	double n = jobs, s = (double)shutter_ns, period;

	if (jobs < 2 || !(most > 0) || !period_ns)
		return period_ns;
	period = (n - 1) * s / (n * most) - 3 * s;
	if (period <= (double)period_ns)
		return period_ns;
	return (int64_t)ceil(period / (double)NS_PER_MS) * NS_PER_MS;
}

void overhead_limit_init(struct overhead_limit *limit)
{
	*limit = (struct overhead_limit){.held = NAN, .cpu = NAN};
}

bool overhead_limit_look(struct overhead_limit *limit, const struct overhead_spent *s, double most)
{
	int64_t passed = s->now_ns - limit->start.now_ns, co = s->co_ns - limit->start.co_ns;
	int was = limit->level;
	double cost;

	if (!limit->started || co <= 0) {
		limit->start = *s;
		limit->started = true;
		return false;
	}
	if (passed < OVERHEAD_WINDOW_S * NS_PER_S)
		return false;
	limit->held = (double)(s->held_ns - limit->start.held_ns) / (double)co;
	limit->cpu = (double)(s->cpu_ns - limit->start.cpu_ns) / ((double)passed * s->cores);
	limit->start = *s;
	cost = fmax(limit->held, limit->cpu);
	if (!(most > 0))
		limit->level = 0;
	else if (cost > CHANCE * most && limit->level < SCHEDULE_MAX_LEVEL)
		limit->level++;
	else if (limit->level > 0 && 2 * cost < most)
		limit->level--;
	return limit->level != was;
}
