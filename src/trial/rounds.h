/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the rounds of a trial: programs compact, together, by turns and alone on a lane. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trial/outcome.h"
#include "trial/runner.h"

/*
 * Each phase starts its programs anew:
 *   compact   one program, on the cores of both lanes
 *   together  two programs, each on its lane, undisturbed
 *   turns     the same two, while now the one and now the other is stopped for a part of a second
 *   alone     one program on its lane, where it has no counter that shows its loss in turns
 * Every second round has them in reverse order, so that what changes slowly (the clock rate, the
 * temperature, other users of the machine) weighs the same on all of them.
 */
enum trial_phase { TRIAL_COMPACT, TRIAL_TOGETHER, TRIAL_TURNS, TRIAL_ALONE };

struct trial_options {
	struct runner_pus lane[RUNNER_SLOTS], both; /* both: the PUs of all these lanes */
	int64_t time_ns;                            /* about how long it may take in all */
	int rounds;
	/* Called when a phase begins, and every second: what runs (b is NULL where one program
	 * does), in which round from 1, and about how long it takes until all is done. */
	void (*progress)(void *arg, enum trial_phase phase, const char *a, const char *b, int round,
		int64_t left_ns);
	void *arg;
};

/*
 * Measures all pairs of t->program. Fills in what trial_new() left empty, but for what
 * trial_judge() does. 0, or -1 with err where a program fails or the stage was stopped; nothing of
 * the programs runs when it returns.
 */
int trial_rounds(struct runner_stage *stage, const struct trial_options *o, struct trial *t,
	struct errmsg *err);
