/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares out what a job loses among the co-runners that cost it, in constant memory a pair. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/record.h"
#include "poppa/estimate/clipmean.h"
#include "poppa/estimate/estimator.h"

/*
 * With two or more co-runners a block in which the job is alone tells what all of them cost it
 * together. A block in which one co-runner alone is stopped tells what that one adds to the others:
 * x = log(rate without it / rate with it), its marginal cost.
 *
 * The degradation is shared out in proportion to x, weighted by the time together, x below 0 taken
 * as 0. Where co-runners slow the job down independently of each other, so that the factors
 * (1 - D) multiply, this is exact. Where they do not, the fair share is the Shapley value: the mean
 * over all orders in which the co-runners may have come of what each one added when it came. Of its
 * terms x is the last one, in which the co-runner comes to all others; measuring all of them would
 * take a block for each subset. Scaling the last terms to the known sum is the approximation.
 */

/* What is known of one co-runner of one job. */
struct attribution_pair {
	uint32_t job_id;
	double together_ns;   /* co-located time of the two */
	struct clipmean cost; /* x, over the blocks in which this co-runner alone was stopped */
};

struct attribution {
	int count;
	struct attribution_pair pair[RECORD_MAX_PARTNERS];
	double untold_ns; /* together with co-runners that there was no room for */
};

struct attribution_share {
	uint32_t job_id;
	double degradation; /* of the job, due to this co-runner; the shares add up to the job's */
	double lo, hi;      /* 95 % interval */
};

/* Counts time that the job ran beside that co-runner. */
void attribution_together(struct attribution *a, uint32_t job_id, int64_t ns);

/*
 * Takes a block of the job in which `absent` alone was stopped in the "during" region. Returns
 * whether it was used: not without windows in all regions, nor for a co-runner that
 * attribution_together() has not named.
 */
bool attribution_block(struct attribution *a, uint32_t absent, const struct est_block *block);

/*
 * Shares out the job's degradation over its co-located time; variance is of that. Fills
 * share[RECORD_MAX_PARTNERS] in order of appearance and returns how many, or 0 where there is
 * nothing to share out or too little is known of who costs what: no guesses.
 */
int attribution_shares(const struct attribution *a, double degradation, double variance,
	struct attribution_share *share);

/* The state for a checkpoint, and back; 0, or -1 and *a unchanged for what is none. */
json_t *attribution_save(const struct attribution *a);
int attribution_load(const json_t *state, struct attribution *a);
