/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds rates and miss rates of a group that agree. */
#include "striping/reuse/forecast.h"

#include <math.h>

/* Rates are then as near as the model is, by far. */
#define ROUNDS 20

/* Cycles in which a program makes a reference. */
static double cycles_between(const struct reuse_histogram *h)
{
	double rate = reuse_rate(h);

	return rate > 0 ? 1 / rate : 1;
}

double forecast_group(const struct forecast_machine *machine, struct miss_rate_member *m, int count,
	enum miss_rate_method method, double miss_rate[FORECAST_LEVELS_MAX])
{
	double cycles[REUSE_GROUP_MAX], last = 0;

	for (int i = 0; i < count; i++)
		m[i].rate = 1 / (cycles_between(m[i].h) + machine->hit_cycles);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < count; i++)
			cycles[i] = cycles_between(m[i].h) + machine->hit_cycles;
		for (int l = 0; l < machine->levels; l++) {
			last = miss_rate_group(m, count, machine->level[l].lines, method);
			if (miss_rate)
				miss_rate[l] = last;
			for (int i = 0; i < count; i++)
				cycles[i] += m[i].miss_rate * machine->level[l].miss_cycles;
		}
		/* Half of the way, so that they do not swing. */
		for (int i = 0; i < count; i++)
			m[i].rate = sqrt(m[i].rate / cycles[i]);
	}
	return last;
}
