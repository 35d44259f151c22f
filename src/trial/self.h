/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a program would do more with half of its tasks: one half is held now and then. */
#pragma once

#include "trial/outcome.h"
#include "trial/runner.h"

/*
 * What the thesis finds of compute units of a graphics processor (chapter 4), asked of tasks: while
 * one half of a program's tasks is stopped for a part of a second, does the other half make more
 * than all did? This tells something only of tasks that do not wait for each other.
 */
struct self_options {
	struct runner_pus pus;
	int64_t time_ns; /* about how long it may take */
	int rounds;      /* into how many the time is divided; 1 to TRIAL_ROUNDS_MAX */
	/* Called every second or so: how much of the time is left. */
	void (*progress)(void *arg, int64_t left_ns);
	void *arg;
};

enum self_verdict { SELF_UNCERTAIN, SELF_ALL, SELF_FEWER };

struct self_result {
	int tasks;                     /* that were counted */
	int rounds;                    /* of which something is known */
	double work[TRIAL_ROUNDS_MAX]; /* of half of the tasks, relative to all */
	struct trial_figure half;      /* their mean */
	double others;                 /* as in struct trial */
	int64_t took_ns;
	enum self_verdict verdict;
	char why[512];
};

/* Runs the program, again where it ends. 0, or -1 with err where it fails or the stage was stopped;
 * nothing of it runs when this returns. */
int self_run(struct runner_stage *stage, const struct self_options *o,
	const struct runner_program *program, struct self_result *result, struct errmsg *err);

/* Fills in half, verdict and why. waits_unseen: its progress is that of MPI programs which perf
 * counts. */
void self_judge(struct self_result *r, const char *name, bool waits_unseen);

const char *self_verdict_name(enum self_verdict v);
