/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of one running program: keeps them on their PUs, reads, stops and resumes them. */
#pragma once

#include <sched.h>

#include "poppa/counter/counter.h"
#include "trial/runner.h"
#include "trial/tagged.h"

struct runner_task {
	pid_t pid;
	uint64_t starttime;
	int pidfd;
	bool seen;    /* in the look that is being taken in */
	bool helper;  /* a launcher or a shell: it is stopped and bound, but is no part of the
			 application */
	bool stopped; /* by us, and only by us: it was not stopped already */
	int half;     /* 1 or 2: tasks are in the one and the other in turns; 0: a helper so far */
	struct counter *counter;
	uint64_t progress; /* the last reading */
	uint64_t ticks;    /* processor time at the last look */
	int64_t again_ns;  /* when to try again to open a counter */
};

#define RUNNER_ALL 3

struct runner_tasks {
	struct runner_task *task; /* by ascending pid */
	int count, room;
	int held; /* which are to be stopped: 0 none, 1 or 2 that half of the tasks, RUNNER_ALL all
		     processes */
	int next_half;
	pid_t denied;   /* a process that we may not stop, as another user's; or 0 */
	uint64_t ticks; /* processor time of all, as looks have seen it */
	uint64_t gone;  /* progress of those that have ended */
	cpu_set_t *cpus;
	cpu_set_t *has; /* room for what a thread has */
	size_t cpus_size;
};

/* The set of PUs in the form that the kernel takes. 0, or -1 with ENOMEM. */
int runner_tasks_init(struct runner_tasks *t, const struct runner_pus *pus);
/* Closes all; what is stopped stays so. */
void runner_tasks_free(struct runner_tasks *t);

/* Takes in what a look has found of this slot: new processes, and those that have ended. backend
 * and state->backend say which counters to open. */
int runner_tasks_take(struct runner_tasks *t, int slot, const struct tagged_process *list, int n,
	enum counter_backend backend, struct runner_state *state, struct errmsg *err);

void runner_tasks_read(struct runner_tasks *t, struct runner_state *state);

/* Stops those that are to be held (as in struct runner_tasks) and are not stopped yet, and resumes
 * the others that we have stopped. */
void runner_tasks_hold(struct runner_tasks *t, int held);
