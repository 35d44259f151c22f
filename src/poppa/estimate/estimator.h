/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates the degradation of one job from a stream of shutter blocks, in constant memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/slow_prior.h"
#include "common/settings.h"

#define EST_MAX_WINDOWS 16
#define EST_BEYOND 9 /* windows beyond that the estimator asks for at most */

/*
 * Progress of the whole job on this node within one window. The windows of a region follow one
 * another without gaps; a window that could not be read has progress NAN and still its dur_ns.
 * Before and after the stop, the shutter's own thread takes processors away from the co-runners.
 * lent_ns is the time of that thread divided by the number of those processors: the job counts as
 * having run alone for so long.
 */
struct est_window {
	double progress; /* instructions, or whatever the progress event counts */
	double cycles;   /* 0 where the backend has none: the rate is then progress per ns */
	double dur_ns;
	double lent_ns;
};

/*
 * One block of a job that ran alone in its "during" region (thesis, Algorithms 1-3). In a long
 * block its co-runners stay stopped beyond that, for windows that grow longer: they follow `during`
 * without a gap and show what comes back too slowly for a usual block. Only the robust estimate
 * uses them.
 */
struct est_block {
	uint64_t start_ns; /* CLOCK_MONOTONIC at the start of the first window */
	int before_n, during_n, beyond_n, after_n; /* windows that exist, 0..EST_MAX_WINDOWS each */
	struct est_window before[EST_MAX_WINDOWS];
	struct est_window during[EST_MAX_WINDOWS];
	struct est_window beyond[EST_MAX_WINDOWS];
	struct est_window after[EST_MAX_WINDOWS];
};

/* The length of window i beyond, for a "during" region of so many ns: they double up to 8 times
 * that, so that a time constant of 2 ms is seen as well as one of 200. */
#define EST_BEYOND_DOUBLE 3
static inline double est_beyond_ns(int i, double during_ns)
{
	return during_ns * (1 << (i < EST_BEYOND_DOUBLE ? i : EST_BEYOND_DOUBLE));
}

struct est_result {
	uint64_t blocks;    /* blocks given to estimator_add() */
	uint64_t used;      /* blocks that passed the filter */
	double degradation; /* D = 1 - T_solo/T_co; NAN while there is no usable block */
	double lo, hi;      /* 95 % interval of D; NAN with fewer than 2 usable blocks */
	double variance;    /* of the mean, i.e. standard error squared; NAN likewise */
	double noise;       /* half the interval by noise alone: what more blocks make smaller */
	bool bursts;        /* it is mostly the ratio of mean rates over all blocks, blocksum.h */
};

struct estimator; /* constant size */

/* prior: what is believed of slow refill before the first long block, valid and copied; NULL: no
 * long block is awaited. It stays the job's, also in its checkpoints. NULL when out of memory. */
struct estimator *estimator_new(enum estimate_method method, const struct slow_prior *prior);
void estimator_free(struct estimator *e);
enum estimate_method estimator_method(const struct estimator *e);

/* Takes one block; returns whether it was used. O(1) time and memory. */
bool estimator_add(struct estimator *e, const struct est_block *block);

/*
 * How many windows beyond the job's next block should have if it may be a long one, at most
 * EST_BEYOND: as many as tell most for the time that co-runners are held. 0: the job is in a phase
 * that loses little, so a long block would tell little; it had better wait.
 */
int estimator_long_windows(const struct estimator *e);

/* The prior that it was made with, or NULL; e owns it. */
const struct slow_prior *estimator_prior(const struct estimator *e);

/*
 * How well each hypothesis of slow_prior.h explains the job's long blocks, without the prior; the
 * sum is 1. Returns how many long blocks there were. With 0, they tell nothing, and *likelihood may
 * be untouched.
 */
uint64_t estimator_likelihood(const struct estimator *e, double likelihood[SLOW_HYPOTHESES]);

void estimator_result(const struct estimator *e, struct est_result *out);

/* The complete state, for a checkpoint. The caller owns the new reference. */
json_t *estimator_save(const struct estimator *e);
/* NULL if the state is not one that estimator_save() of this release wrote. */
struct estimator *estimator_load(const json_t *state);
