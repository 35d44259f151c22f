/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shutter: measures all jobs, stops all but one, measures that one, resumes (Algorithms 1-3).
 */
#pragma once

#include <stdint.h>

#include "common/errmsg.h"
#include "poppa/hold/guardctl.h"
#include "poppa/hold/held.h"
#include "poppa/measure/shutter_plan.h"

struct shutter;

/*
 * Starts the shutter thread (SCHED_FIFO), idle until a plan is published. *notify_fd is an eventfd
 * that becomes readable after each block. held and guard must outlive it. NULL with err.
 */
struct shutter *shutter_start(
	struct held_file *held, struct guard *guard, int *notify_fd, struct errmsg *err);

/*
 * Gives the thread a new plan (NULL: be idle) and returns the old one, in which a block may have
 * finished that nobody has taken yet. Waits for the end of a block under way, so nothing stays
 * stopped across the call.
 */
struct shutter_plan *shutter_publish(struct shutter *s, struct shutter_plan *next);

/* Between these two no block runs: for what must not happen within one. */
void shutter_lock(struct shutter *s);
void shutter_unlock(struct shutter *s);

/* Time until the next block opens, ns; INT64_MAX where none is to come. Waits for the end of a
 * block under way. */
int64_t shutter_idle_ns(struct shutter *s);

/* The plan with a finished block in it, or NULL; the next block waits for shutter_done(). */
struct shutter_plan *shutter_take(struct shutter *s);
void shutter_done(struct shutter *s);

/* CPU time of the thread so far, ns. */
int64_t shutter_cpu_ns(const struct shutter *s);

/* Ends the thread after the block under way; returns the plan. */
struct shutter_plan *shutter_stop(struct shutter *s);
