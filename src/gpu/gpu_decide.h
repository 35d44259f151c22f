/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many compute units a program should have. */
#pragma once

#include <stdbool.h>

#include "gpu/gpu_curve.h"

enum gpu_goal {
	GPU_TIME,   /* the fewest units with which it is nearly as fast as it can be */
	GPU_ENERGY, /* the least energy */
	GPU_EDP,    /* the least energy times time (thesis, equation 4.4) */
};

/* Shares of what the most units take; negative ones are more. NAN where energy is not known. */
struct gpu_decision {
	const struct gpu_point *point; /* what is best */
	const struct gpu_point *most;  /* the most units that were measured */
	double time_saved, energy_saved, edp_saved;
	bool all; /* it wants all units */
};

/* eps: how much longer than the shortest time counts as nearly as fast, as a fraction; for the
 * other goals, how much more than the least. Returns false where the goal needs energy, and it is
 * not known. */
bool gpu_decide(
	const struct gpu_program *program, enum gpu_goal goal, double eps, struct gpu_decision *d);
