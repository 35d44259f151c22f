/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Progress counters of one task: what the shutter reads before, during and after. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"

/* Progress since the counter was opened; cycles is 0 where the backend has none. */
struct counter_sample {
	uint64_t progress;
	uint64_t cycles;
	bool missing; /* nothing is known of the time since the last reading: others had the PMU */
};

struct counter; /* one task (process, all its threads) under one backend */

/*
 * Opens counters on a running task. With COUNTER_AUTO the backends are tried in
 * the order of their table (common/counter_backends.h), and the first with a signal for this task
 * is taken. conf gives the events, functions and recordings. Slow (uprobe 15-30 ms): never call it
 * from the shutter's time-critical path. Returns 0 and *out (free with counter_close), or -1 with
 * err; -1 with errno ENODATA means that no backend has a signal for this task yet: a program that
 * has only just started may publish its heartbeat or load its libraries later. ESRCH: it is gone.
 * What keeps a backend from being used at all is logged, once for each reason.
 * One counter is for one thread of the caller at a time; different counters are independent.
 */
int counter_open(enum counter_backend backend, const struct nodeconf *conf, pid_t pid,
	struct counter **out, struct errmsg *err);

/* Cheap, async: no allocation, no lock, one system call a counted group.
 * Never falls. 0, or -1 with errno (ESRCH: task is gone, which may be told some milliseconds late;
 * ENODATA: it publishes its heartbeat no longer). */
int counter_read(struct counter *c, struct counter_sample *out);

/*
 * The slow part of the refresh that comes next, ahead of it: what is new is opened here. Readings
 * may go on in another thread meanwhile, but no refresh.
 */
void counter_prepare(struct counter *c);

/* Follows threads that came and went since, where the kernel does not do so by itself; call between
 * blocks, not within. 0, or -1 with errno (ESRCH: task is gone; ENODATA: the signal has ended, as
 * after exec(): close and open again). */
int counter_refresh(struct counter *c);

/* What is slow to close (a uprobe takes up to 340 ms) is left to another thread. NULL is allowed.
 */
void counter_close(struct counter *c);

enum counter_backend counter_kind(const struct counter *c);
bool counter_has_cycles(const struct counter *c);

/* Whether a reading interrupts a task that runs elsewhere; otherwise it costs next to nothing. */
bool counter_interrupts(const struct counter *c);

/*
 * Told by the shutter before the first reading of a region (enum shutter_region) of a block in
 * which the task's job runs alone. A recording that is played back needs it; async as a reading.
 */
void counter_region(struct counter *c, int region);

/* What the task is doing, as proc_state() has it; async as a reading, and interrupts nobody. */
char counter_task_state(const struct counter *c);

/* Whether this build and this machine can use the backend at all, as conf has it (NULL: the
 * defaults); otherwise err says why and how to fix that (poppad --counters, poppa doctor). */
bool counter_available(
	enum counter_backend backend, const struct nodeconf *conf, struct errmsg *err);
