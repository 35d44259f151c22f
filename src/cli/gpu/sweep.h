/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a program with one number of units after the other. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/errmsg.h"
#include "gpu/gpu_energy.h"
#include "gpu/gpu_way.h"

#define SWEEP_UNITS_MAX 256

struct sweep_plan {
	struct gpu_way way;
	double units[SWEEP_UNITS_MAX]; /* in rising order, all different */
	size_t count;
	int rounds;
	const char *program;       /* its name in the result */
	char **command;            /* ends with NULL */
	const char *save;          /* a file that is replaced after each run; NULL: none */
	bool unsaved;              /* sweep_run() could not write it, and has told why */
	struct gpu_energy *energy; /* of this process; NULL: nothing here tells it */
	const char *token;         /* the mark of what is started (tagged.h) */
	sigset_t before;           /* sweep_run()'s: the signals that the caller blocks */
};

/* Reads "4,8,16" and "4-44:4" (and both mixed) into the plan's units. Returns 0, or -1 with err. */
int sweep_units(struct sweep_plan *plan, const char *text, struct errmsg *err);

/*
 * For keeper_run(), which ends what this leaves. Runs the command once for each number of units and
 * round, every second round backwards, so that a machine that drifts does not look like a better
 * number. Tells progress on standard error. Returns what was measured, as gpu_curves_parse() reads
 * it, which the caller frees; or NULL with err: also where the program fails, or a user ends the
 * sweep by a signal. What a run has started ends with it.
 */
char *sweep_run(struct sweep_plan *plan, struct errmsg *err);
