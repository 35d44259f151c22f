/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thesis' Algorithms 1 to 3 as one would write them down, to hold poppad's loop against. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <linux/perf_event.h>

/* Where the time of one loop goes. */
enum loop_part {
	LOOP_STOP,
	LOOP_RESUME,
	LOOP_READ_ALONE,    /* counters, while one job runs alone */
	LOOP_READ_TOGETHER, /* counters, before and after that */
	LOOP_OTHER,         /* CPU time of all else but sleeping */
	LOOP_SLEEP,         /* CPU time of going to sleep between readings and waking up */
	LOOP_PARTS
};

#define STRAIGHT_EVENTS 2
#define STRAIGHT_MAX_TASKS 128

/* One event of one task, opened by itself. */
struct straight_task {
	int job; /* 0 or 1 */
	pid_t pid;
	int event[STRAIGHT_EVENTS];
};

struct straight {
	int tasks;
	struct straight_task task[STRAIGHT_MAX_TASKS];
	uint64_t sum;     /* of what was counted, so that no reading is left out */
	int64_t readings; /* system calls, of all loops so far */
	/* NULL, or called before each call that concerns a task, with whether it is a resume. What
	 * it adds to *taken_ns is no part of the loop. */
	void (*ahead)(int task, bool resume, int64_t *taken_ns);
	int displaced; /* with ahead: the task that this thread displaces, so it never runs when it
			  is read */
	int64_t taken_ns;
};

/* Opens both events of every task; .job and .pid are given. 0, or -1 with errno. */
int straight_open(struct straight *s, const struct perf_event_attr event[STRAIGHT_EVENTS]);
void straight_close(struct straight *s);

/* Time of a clock, ns. */
int64_t straight_clock(clockid_t clock);

/* The body of Algorithm 3's loop without its sleep of P; K measurements of S/K each in a region.
 * Adds what each part took, ns. */
void straight_loop(
	struct straight *s, int lone, int64_t shutter_ns, int windows, int64_t part[LOOP_PARTS]);
