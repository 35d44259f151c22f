/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps what shutters cost below poppa_overhead_max. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Time between two looks at the measured cost. */
#define BUDGET_WINDOW_S 30

/* The shortest period, at least period_ns, at which the model (3.9) has n jobs held stopped for no
 * more than the share `most` of their time. Whole milliseconds where it is longer. most 0: no cap.
 */
int64_t budget_period(int jobs, int64_t shutter_ns, int64_t period_ns, double most);

/* What was spent so far, all since any one start. */
struct budget_spent {
	int64_t now_ns;  /* CLOCK_MONOTONIC */
	int64_t held_ns; /* jobs held stopped, summed over jobs */
	int64_t co_ns;   /* co-located time, likewise */
	int64_t cpu_ns;  /* CPU time of the daemon */
	int cores;       /* processors of the node */
};

struct budget {
	int level;        /* every job's level is at least this */
	double held, cpu; /* shares of the jobs' time and of the node's processors in the last
			     window; NAN = none yet */
	struct budget_spent start;
	bool started;
};

void budget_init(struct budget *b);

/*
 * A look at the accounts; returns whether the level has changed. At the end of a window in which
 * held or cpu was above `most` it goes up, and down where either would stay below it at one level
 * less. A tenth more may be chance: the number of shutters that stop somebody varies. Windows
 * without co-located time do not count.
 */
bool budget_look(struct budget *b, const struct budget_spent *s, double most);
