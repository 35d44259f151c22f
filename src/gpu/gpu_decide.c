/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the fewest units that reach a goal. */
#include "gpu/gpu_decide.h"

#include <math.h>

static double cost(const struct gpu_point *p, enum gpu_goal goal)
{
	return goal == GPU_TIME     ? p->seconds
	       : goal == GPU_ENERGY ? p->joules
				    : p->joules * p->seconds;
}

bool gpu_decide(
	const struct gpu_program *program, enum gpu_goal goal, double eps, struct gpu_decision *d)
{
	const struct gpu_point *most = &program->points[program->count - 1];
	double least = INFINITY;
	size_t at = 0;

	for (size_t i = 0; i < program->count; i++) {
		double c = cost(&program->points[i], goal);

		if (isnan(c))
			return false;
		least = fmin(least, c);
	}
	while (cost(&program->points[at], goal) > least * (1 + eps))
		at++;
	*d = (struct gpu_decision){.point = &program->points[at], .most = most};
	d->time_saved = 1 - d->point->seconds / most->seconds;
	d->energy_saved = 1 - d->point->joules / most->joules;
	d->edp_saved = 1 - d->point->joules * d->point->seconds / (most->joules * most->seconds);
	d->all = d->point == most;
	return true;
}
