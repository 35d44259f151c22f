/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a trial's programs on their PUs: starts them again when they end, stops, reads and ends
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/counter_backends.h"
#include "common/errmsg.h"

/* How many programs run at the same time. */
#define RUNNER_SLOTS 2

/* PUs by ascending OS index, owned by whoever made the list. */
struct runner_pus {
	int *pu;
	int count;
};

struct runner_program {
	char *const *argv;            /* NULL-terminated */
	const char *name;             /* the command as one line, safe to print */
	bool preload;                 /* run it with libpoppa-heartbeat-mpi */
	enum counter_backend backend; /* COUNTER_AUTO: heartbeat or perf, whichever has a signal */
};

/* Every second task of a program, without those that have ended. */
struct runner_half {
	uint64_t progress;
	int tasks; /* that are counted */
};

/* What is known of the program of a slot since it was started by runner_start(). */
struct runner_state {
	int64_t started_ns;  /* clock_now() */
	int runs;            /* complete runs; each is followed by the next at once */
	int64_t last_end_ns; /* of the last complete run */
	/* Where its progress comes from; COUNTER_NONE: no task of it has had a signal yet. */
	enum counter_backend backend;
	uint64_t progress; /* at the last runner_read(), over all its runs and tasks */
	bool readable;     /* at the last runner_read() a task was counted */
	int changes;       /* how often a task's counter was opened, or its task has ended */
	int resumed;       /* how often a task that was stopped has run all the same */
	int most_tasks, most_threads; /* launchers and shells do not count as tasks */
	struct runner_half half[2];   /* at the last runner_read() */
	bool mpi;                     /* perf counts a program of MPI: its waiting, too */
	bool mpi_calls;               /* libpoppa-heartbeat-mpi counts its progress */
};

/*
 * The programs that run now. One thread only. What is stopped is stopped with SIGSTOP and known to
 * this stage alone: whoever ends it, or sees it dead, has to resume or end all processes with the
 * token's mark (tagged_kill_all()).
 */
struct runner_stage;

/*
 * token: of tagged_token(). preload: the path of libpoppa-heartbeat-mpi, or NULL where there is
 * none. stop: becomes true, by a signal handler, when everything has to end. NULL where memory is
 * short.
 */
struct runner_stage *runner_stage_new(
	const char *token, const char *preload, const volatile bool *stop);
/* Ends all programs first. */
void runner_stage_free(struct runner_stage *s);

/* Starts a program in a free slot. 0, or -1 with err where it cannot be executed. Both must outlive
 * runner_end(). */
int runner_start(struct runner_stage *s, int slot, const struct runner_program *program,
	const struct runner_pus *pus, struct errmsg *err);

/* Waits until then (clock_now()), or until what ends first has ended where `end` is set. Meanwhile
 * programs that end are started again, and new processes are counted, bound and, in a slot that is
 * held, stopped. 0, or -1 with err where a program fails or *stop is set. */
int runner_wait(struct runner_stage *s, int64_t until_ns, bool end, struct errmsg *err);

/* Stops all processes of a slot, or resumes those that it has stopped. 0, or -1 with err. */
int runner_hold(struct runner_stage *s, int slot, bool hold, struct errmsg *err);

/* Stops one half of the tasks of a slot's program, 0 or 1, and resumes the other one; -1 resumes
 * both. Launchers go on. 0, or -1 with err. */
int runner_hold_half(struct runner_stage *s, int slot, int half, struct errmsg *err);

/* Reads the progress of a slot's program. */
void runner_read(struct runner_stage *s, int slot);

/* Whether everything has to end: *stop of runner_stage_new(). */
bool runner_stopped(const struct runner_stage *s);

const struct runner_state *runner_state(const struct runner_stage *s, int slot);

/* Ends the programs of all slots: asks them to end, then kills them. 0, or -1 with err where one of
 * their processes does not end. */
int runner_end(struct runner_stage *s, struct errmsg *err);

/* Processor time of this process and of all programs that it has run and ended, ns. Children of
 * other daemons (srun's tasks) count as far as they were looked at. */
int64_t runner_used_ns(const struct runner_stage *s);
