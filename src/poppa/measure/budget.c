/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares what shutters cost with what they may cost. */
#include "poppa/measure/budget.h"

#include <math.h>

#include "common/units.h"
#include "poppa/measure/schedule.h"

#define CHANCE 1.1 /* a cost above `most` by less than this factor may be chance */

int64_t budget_period(int jobs, int64_t shutter_ns, int64_t period_ns, double most)
{
	double n = jobs, s = (double)shutter_ns, period;

	if (jobs < 2 || !(most > 0) || !period_ns)
		return period_ns;
	period = (n - 1) * s / (n * most) - 3 * s;
	if (period <= (double)period_ns)
		return period_ns;
	return (int64_t)ceil(period / (double)NS_PER_MS) * NS_PER_MS;
}

void budget_init(struct budget *b)
{
	*b = (struct budget){.held = NAN, .cpu = NAN};
}

bool budget_look(struct budget *b, const struct budget_spent *s, double most)
{
	int64_t passed = s->now_ns - b->start.now_ns, co = s->co_ns - b->start.co_ns;
	int was = b->level;
	double cost;

	if (!b->started || co <= 0) {
		b->start = *s;
		b->started = true;
		return false;
	}
	if (passed < BUDGET_WINDOW_S * NS_PER_S)
		return false;
	b->held = (double)(s->held_ns - b->start.held_ns) / (double)co;
	b->cpu = (double)(s->cpu_ns - b->start.cpu_ns) / ((double)passed * s->cores);
	b->start = *s;
	cost = fmax(b->held, b->cpu);
	if (!(most > 0))
		b->level = 0;
	else if (cost > CHANCE * most && b->level < SCHEDULE_MAX_LEVEL)
		b->level++;
	else if (b->level > 0 && 2 * cost < most)
		b->level--;
	return b->level != was;
}
