/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps what shutters cost below poppa_overhead_max, by the model and by measurement. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Time between two looks at the measured cost. */
#define OVERHEAD_WINDOW_S 30

/* The shortest period, ns, at which each of so many jobs is held stopped for no more than the share
 * `most` of its time, by the thesis' model (3.9). At least period_ns, else whole milliseconds; most
 * 0: no limit. */
int64_t overhead_limit_period(int jobs, int64_t shutter_ns, int64_t period_ns, double most);

/* What was spent so far; all of it counts from the same start. */
struct overhead_spent {
	int64_t now_ns;  /* CLOCK_MONOTONIC */
	int64_t held_ns; /* time for which jobs were held stopped, summed over jobs */
	int64_t co_ns;   /* co-located time, summed over jobs */
	int64_t cpu_ns;  /* CPU time of the daemon for shutters */
	int cores;       /* processors of the node */
};

struct overhead_limit {
	int level; /* every job's level is at least this */
	/* In the last window: shares of the jobs' time and of the node's processors; NAN = none. */
	double held, cpu;
	struct overhead_spent start;
	bool started;
};

void overhead_limit_init(struct overhead_limit *limit);

/*
 * Compares what was spent with `most`; returns whether the level has changed. At the end of a
 * window of OVERHEAD_WINDOW_S, the level goes up where held or cpu was above `most` by more than a
 * tenth (less may be chance: the number of shutters that stop somebody varies). It goes down where
 * both would stay below `most` at one level less. Windows without co-located time do not count.
 */
bool overhead_limit_look(struct overhead_limit *limit, const struct overhead_spent *s, double most);
