/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long programs take on a graphics processor, and what energy, by the number of units that are
 * on. */
#pragma once

#include <stddef.h>

#include "common/errmsg.h"
#include "gpu/gpu_power.h"

/* A program with one number of units on. */
struct gpu_point {
	double units;
	double seconds; /* of all its kernels (thesis, equation 4.4) */
	double joules;  /* of all its kernels (equation 4.3), NAN where that is not known */
};

struct gpu_program {
	char *name;
	struct gpu_point *points; /* by units, the fewest first; at least one */
	size_t count;
};

struct gpu_curves {
	struct gpu_program *programs; /* in the order in which the text names them first */
	size_t count;
};

/*
 * Reads what was measured: lines of comma-separated values, of which the first one names the
 * columns "units" and "seconds", and if wanted "program", "kernel", "activity" (the share of lanes
 * of the units that work) and "joules"; others are left out of account, and so are empty lines and
 * those that begin with "#". Lines of the same program, kernel and number of units are runs of the
 * same; their medians count. A program's kernels run one after the other. Where there are no
 * joules, activity tells them by the model of power. name: of the text, for messages. Returns 0 and
 * fills *curves, which gpu_curves_release() frees, or -1 with err.
 */
int gpu_curves_parse(struct gpu_curves *curves, const char *name, const char *text,
	const struct gpu_power *power, struct errmsg *err);
void gpu_curves_release(struct gpu_curves *curves);
