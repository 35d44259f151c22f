/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shutter: measures jobs, stops all but one, measures that one, resumes (Algorithms 1-3). */
#pragma once

#include <stdint.h>

#include "common/errmsg.h"
#include "poppa/hold/guardctl.h"
#include "poppa/hold/held.h"
#include "poppa/measure/shutter_plan.h"

struct shutter;

/* Starts the shutter's thread (SCHED_FIFO), which is idle until a plan is published. *notify_fd is
 * an eventfd that becomes readable after each block. held and guard must outlive it. NULL with err.
 */
struct shutter *shutter_start(
	struct held_file *held, struct guard *guard, int *notify_fd, struct errmsg *err);

/* Gives the thread a new plan (NULL: be idle) and returns the old one, which may have a finished
 * block that nobody has taken yet. Waits for the end of a running block, so nothing is held stopped
 * when it returns. */
struct shutter_plan *shutter_publish(struct shutter *s, struct shutter_plan *next);

/* No block runs between these two calls, and nothing is held stopped: shutter_lock() waits for the
 * end of a running block and ends a slice of turns, which goes on afterwards. */
void shutter_lock(struct shutter *s);
void shutter_unlock(struct shutter *s);

/* The same, but a slice goes on: for what only blocks use, which are counters and job_cpu. */
void shutter_lock_reading(struct shutter *s);

/* Fills *out with what slices of turns have taken of the jobs of the present plan since the last
 * call, up to this moment. What is left of a plan is in the one that shutter_publish() returns. */
void shutter_turned(struct shutter *s, struct shutter_turned *out);

/* As shutter_lock_reading(), but where a block or a slice runs or is nearer than ns, nothing is
 * locked and false is returned. It never waits for a block. */
bool shutter_lock_quiet(struct shutter *s, int64_t ns);

/* Time until the next block opens, ns; INT64_MAX where none is to come. Waits for the end of a
 * running block. */
int64_t shutter_idle_ns(struct shutter *s);

/* The plan with a finished block in it, or NULL; the next block waits for shutter_done(). */
struct shutter_plan *shutter_take(struct shutter *s);
void shutter_done(struct shutter *s);

/* Processor time of the thread so far, ns. */
int64_t shutter_cpu_ns(const struct shutter *s);

/* Ends the thread after a running block, and frees s. The caller owns the plan that it returns. */
struct shutter_plan *shutter_stop(struct shutter *s);
