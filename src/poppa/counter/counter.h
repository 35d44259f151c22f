/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Progress counters of one task: what the shutter reads before, during and after. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"

/* Progress since the counter was opened; cycles and misses are 0 where there are none. */
struct counter_sample {
	uint64_t progress;
	uint64_t cycles;
	uint64_t misses; /* of the last-level cache */
	bool missing; /* nothing is known of the time since the last reading: others had the PMU */
};

struct counter; /* one task (process, all its threads) under one backend */

/*
 * Opens counters on a running task. COUNTER_AUTO tries the backends in the order of their table
 * (common/counter_backends.h) and takes the first that has a signal for this task. conf gives the
 * events, functions and recordings. Slow (a uprobe takes 15 to 30 ms): never call it in a shutter.
 * Returns 0 and *out (free with counter_close), or -1 with err and errno. ENODATA: no backend has a
 * signal for this task yet; a program that has just started may publish its heartbeat or load its
 * libraries later. ESRCH: the task is gone. EREMOTE, ETIMEDOUT: a user serves the program's file
 * system, or it does not answer (symbol.h, timed_call.h). Why a backend cannot be used at all is
 * logged once for each reason. Only one thread at a time may use a counter; different counters are
 * independent.
 */
int counter_open(enum counter_backend backend, const struct nodeconf *conf, pid_t pid,
	struct counter **out, struct errmsg *err);

/* Cheap: no allocation, no lock, one system call for each counted group. The values never fall.
 * 0, or -1 with errno (ESRCH: the task is gone, which a reading may find some milliseconds late;
 * ENODATA: the task no longer publishes its heartbeat). */
int counter_read(struct counter *c, struct counter_sample *out);

/* Does the slow part of the next refresh ahead of it: opens what is new. Another thread may read
 * the counter meanwhile, but may not refresh it. */
void counter_prepare(struct counter *c);

/* Follows the threads that came and went since the last refresh, where the kernel does not do so by
 * itself. Call it between blocks, not within one. 0, or -1 with errno (ESRCH: the task is gone;
 * ENODATA: the signal has ended, for example by an exec(): close the counter and open it again). */
int counter_refresh(struct counter *c);

/* Leaves what is slow to close (a uprobe takes up to 340 ms) to another thread. c may be NULL. */
void counter_close(struct counter *c);

enum counter_backend counter_kind(const struct counter *c);
bool counter_has_cycles(const struct counter *c);

/* Whether samples have misses; then progress counts instructions, and there are cycles. A refresh
 * may end it, and nothing begins it again. */
bool counter_has_misses(const struct counter *c);

/* Whether a reading interrupts the task on its processor; otherwise it costs next to nothing. */
bool counter_interrupts(const struct counter *c);

/* The shutter calls this before the first reading of each region (enum shutter_region) of a block
 * in which the task's job runs alone. The replay backend needs it. As cheap as a reading. */
void counter_region(struct counter *c, int region);

/* The task's state, as proc_state() gives it. As cheap as a reading, and interrupts nobody. */
char counter_task_state(const struct counter *c);

/* Whether this build and this machine can use the backend at all, with the settings in conf (NULL:
 * the defaults); otherwise err says why and how to fix that (poppad --counters, poppa doctor). */
bool counter_available(
	enum counter_backend backend, const struct nodeconf *conf, struct errmsg *err);
