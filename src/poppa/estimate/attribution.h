/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares out the degradation of a job among its co-runners, in constant memory for each of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/record.h"
#include "poppa/estimate/clipmean.h"
#include "poppa/estimate/estimator.h"

/*
 * A block in which the job is alone tells what all co-runners together cost it. A block in which
 * one co-runner alone is stopped tells what that one adds to the others: x = log(rate without it /
 * rate with it), its marginal cost. Where a job has one co-runner at a time, both are the same.
 *
 * What a co-runner took while it was the only one is the share 1 - exp(-x) of that time. That is
 * all there is on a node with two lanes, and there it is exact.
 *
 * Of time with several co-runners the degradation is shared out in proportion to x (0 where x is
 * below 0), weighted by the time together. This is exact where co-runners slow the job down
 * independently of each other, so that
 * the factors (1 - D) multiply. Where they do not, the fair share is the Shapley value: what a
 * co-runner added when it came, as a mean over all orders in which the co-runners may have come. x
 * is one of its terms, in which the co-runner came last. All terms would take a block for each
 * subset, so the shares of the last terms are an approximation.
 */

/* What is known of one co-runner of one job. */
struct attribution_pair {
	uint32_t job_id;
	double together_ns;   /* co-located time of the two */
	double single_ns;     /* of that, without another co-runner */
	struct clipmean cost; /* x, over the blocks in which this co-runner alone was stopped */
};

struct attribution {
	int count;
	struct attribution_pair pair[RECORD_MAX_PARTNERS];
	double untold_ns; /* time beside co-runners for which there was no room */
};

struct attribution_share {
	uint32_t job_id;
	double degradation; /* of the job, due to this co-runner; the shares add up to the job's */
	double lo, hi;      /* 95 % interval */
	double together_ns; /* co-located time of the two */
};

/* Counts time in which the job ran beside that co-runner; single: and beside no other one. */
void attribution_together(struct attribution *a, uint32_t job_id, int64_t ns, bool single);

/* Takes a block of the job in which `absent` alone was stopped in the "during" region: the usual
 * block of a job that has but one co-runner, or a block of absence. Returns
 * whether it was used. It is not where a region has no windows, or where attribution_together() did
 * not name the co-runner. */
bool attribution_block(struct attribution *a, uint32_t absent, const struct est_block *block);

/* Shares out the job's degradation over its co-located time, which has this variance. Fills
 * share[RECORD_MAX_PARTNERS] in the order in which the co-runners came and returns how many, or 0
 * where there is nothing to share out or too little is known. Where it is certain that all of them
 * took hardly anything, that is shared out by the time together. */
int attribution_shares(const struct attribution *a, double degradation, double variance,
	struct attribution_share *share);

/* For a checkpoint. Load returns 0, or -1 for a state that is not valid, and leaves *a as it was.
 */
json_t *attribution_save(const struct attribution *a);
int attribution_load(const json_t *state, struct attribution *a);
