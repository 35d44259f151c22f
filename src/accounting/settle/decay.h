/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a run's usage Slurm's fair-share still holds. */
#pragma once

#include <stdint.h>

/* The clock of priority/multifactor: once a period it charges running jobs and lets usage decay. */
struct decay {
	double half_life_s; /* PriorityDecayHalfLife; 0 = usage does not decay */
	int64_t period_s;   /* PriorityCalcPeriod */
	int64_t last_unix;  /* when it last did that; 0 = unknown */
	int64_t reset_unix; /* when usage was last due to be reset, or first counted; 0 = never */
};

/*
 * What is left of one unit a second that was charged from start to end, seconds. Slurm charges what
 * a period has used as if all of it had been used at the period's beginning, and a run's last part
 * when the run ends. At each period's end it multiplies all usage by 1 - 0.693/half-life for each
 * second. Usage before the last reset is gone. With a last_unix of 0 nothing has decayed since the
 * end.
 */
double decay_left(const struct decay *d, int64_t start_unix, int64_t end_unix);
