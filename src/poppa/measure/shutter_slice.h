/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One slice of turns: holds all jobs but one for up to a second, for the real-time thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "poppa/hold/guardctl.h"
#include "poppa/hold/held.h"
#include "poppa/measure/shutter_plan.h"

/* The guard resumes what a slice holds so long after the slice's end, if poppad does not. */
#define SLICE_MARGIN_NS (20 * INT64_C(1000000))

/*
 * A signal for a job that is held ends the slice, and then nobody is held for a while, so that the
 * program can act on it. Who signals its own job for ever would never be held, and a co-runner's
 * limit would not be kept. So this counts SIGNALS_AT_ONCE times (Slurm's warning, SIGTERM and one
 * more), and then once in SIGNALS_EVERY_NS. Other signals reach the job when it is resumed as
 * planned.
 */
#define SIGNALS_AT_ONCE 3
#define SIGNALS_EVERY_NS (600 * INT64_C(1000000000))

/* When signals have ended slices, by job. Begins as zero. */
struct slice_signals {
	struct {
		uint32_t job_id, restart;
		int64_t paid_ns; /* each one that counts moves it on by SIGNALS_EVERY_NS */
	} job[SHUTTER_MAX_JOBS];
};

/* Whether a signal for the job would count now (CLOCK_MONOTONIC). */
bool slice_signals_count(
	const struct slice_signals *h, uint32_t job_id, uint32_t restart, int64_t now_ns);
/* One has counted. Where there is no room, the job that has been signalled least is forgotten. */
void slice_signals_add(struct slice_signals *h, uint32_t job_id, uint32_t restart, int64_t now_ns);

/* A slice that goes on. Times are CLOCK_MONOTONIC. */
struct shutter_slice {
	int runs;                          /* the job that is not held, index of plan->job[] */
	int stopped[SHUTTER_MAX_JOBS];     /* how many units of each job, from its first */
	int64_t counted[SHUTTER_MAX_JOBS]; /* up to when the time of each job is counted; 0 = none
					    */
	struct slice_signals *signals;
	bool heeds[SHUTTER_MAX_JOBS]; /* signals for this job count */
	uint32_t fired;               /* held->fired when it began */
	unsigned looks;
	bool disturbed; /* a job that is held was signalled or frozen by somebody else */
};

/*
 * These four allocate nothing and take no lock. What they count they add to plan->turned.
 *
 * slice_begin() holds all jobs of the plan but one until ends_ns; the guard's deadline follows.
 * False where a job could not be stopped, or there is no guard: then nothing is held. *signals must
 * last as long as *s.
 */
bool slice_begin(struct held_file *held, struct guard *guard, struct shutter_plan *p, int runs,
	int64_t ends_ns, struct slice_signals *signals, struct shutter_slice *s);

/* To be called every SLICE_LOOK_NS. False where the slice has to end now: a job that is held has
 * been signalled and that counts, or was frozen by somebody else, or the guard has resumed it. */
#define SLICE_LOOK_NS (20 * INT64_C(1000000))
bool slice_look(struct held_file *held, struct shutter_plan *p, struct shutter_slice *s);

/* Counts the time up to now. */
void slice_count(const struct held_file *held, struct shutter_plan *p, struct shutter_slice *s);

/* Resumes what the slice holds, but not what somebody else has frozen meanwhile. False where a job
 * was signalled, and that counts, or frozen by somebody else. */
bool slice_end(struct held_file *held, struct guard *guard, struct shutter_plan *p,
	struct shutter_slice *s);
