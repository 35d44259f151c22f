/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ratio of the mean rates over all blocks, for jobs whose progress comes in bursts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "poppa/estimate/estimator.h"

/*
 * A job that counts its progress once a step, and whose steps are as long as a shutter, shows now
 * nothing and now much. The ratio of one block's rates then says nothing, and blocks that hold
 * together are those of one count. The mean rate beside co-runners and the mean rate alone have
 * no bias, whenever the counts come. Their ratio gives fast phases more weight than slow ones. What
 * that makes is known to second order from neighbouring blocks, but not well. So this is for such
 * jobs only.
 */

/* Fewer blocks give no estimate. */
#define BLOCKSUM_LEAST 16

/* Sums over blocks, each weighted by the time since the one before it. All members are doubles, see
 * STATE_REAL(). Starts as zeros. */
struct blocksum {
	double blocks, last_ns;
	double weight, co, solo, lent; /* lent: share of the time before and after */
	double co2, solo2, cross;      /* sums of products, weighted by the square */
	double judged, rough;          /* blocks with windows alone to compare, and rough ones */
	/* Products with the block before, in which bursts have no part: solo with solo, co with
	 * solo; the sums of their squares, and of both. */
	double last_co, last_solo, lag_weight, lag_solo, lag_co, lag_solo2, lag_co2, lag_cross;
};

void blocksum_add(struct blocksum *b, const struct est_block *block);

/* The share of blocks in which the job's windows alone differ as noise hardly makes them, less a
 * standard error: 0 to 1. */
double blocksum_rough(const struct blocksum *b);

/* The share of the time before and after in which the co-runners had lent their processors to the
 * shutter's thread; 0 where nothing is known. */
double blocksum_lent(const struct blocksum *b);

/* *u: the rate beside co-runners over the rate alone; *variance: its squared standard error. false
 * with too few blocks, or without progress. */
bool blocksum_result(const struct blocksum *b, double *u, double *variance);
