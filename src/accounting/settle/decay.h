/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a run's usage Slurm's fairshare still holds. */
#pragma once

#include <stdint.h>

/* priority/multifactor's clock: it charges running jobs and lets usage decay once a period. */
struct decay {
	double half_life_s; /* PriorityDecayHalfLife; 0 = usage does not decay */
	int64_t period_s;   /* PriorityCalcPeriod */
	int64_t last_unix;  /* when it did that last; 0 = unknown */
	int64_t reset_unix; /* when usage was last due to be reset, or first counted; 0 = never */
};

/*
 * What is left of one unit a second that was charged from start to end, seconds. Follows what
 * Slurm does: it charges what a period has used as if it had all been used at the period's
 * beginning, a run's last part when it ends, and takes 1 - 0.693/half-life a second off all usage
 * at each period's end. Usage before the last reset is gone. With a last_unix of 0 nothing has
 * decayed since the end.
 */
double decay_left(const struct decay *d, int64_t start_unix, int64_t end_unix);
