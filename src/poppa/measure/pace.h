/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often a job needs a block: rarely while its interval is tight, more often when it changes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "poppa/estimate/estimator.h"

/* The highest level, by a tight interval: one block in 2^3 rounds. */
#define PACE_MAX_LEVEL 3
#define PACE_RECENT 16

struct pace {
	int level;   /* by the interval */
	int since;   /* blocks at this level */
	int alert;   /* blocks for which the level is still lower, as the job changes */
	int outside; /* blocks in a row that were outside of the band of the recent ones */
	int count;   /* of recent blocks, at most PACE_RECENT */
	int next;    /* place of the next block in rate[] and ratio[] */
	double rate[PACE_RECENT]; /* logarithms: of the co-run rate, and of solo over co-run */
	double ratio[PACE_RECENT];
};

/* Takes a block of the job, used or not, and the job's result with it. half_width: of the 95 %
 * interval of D, as far as more blocks make it smaller; NAN = unknown. The level stays 0 while
 * `used`, the number of used blocks, is below `enough`. Returns whether the block shows a change of
 * phase. */
bool pace_add(struct pace *p, const struct est_block *b, double half_width, uint64_t used,
	uint64_t enough);

/* The level for the next block, 0..PACE_MAX_LEVEL. */
int pace_level(const struct pace *p);
