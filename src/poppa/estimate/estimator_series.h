/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time average of the ratio of two rates over blocks, and its variance, in constant memory. */
#pragma once

#include <stdint.h>
#include <jansson.h>

#include "poppa/estimate/blockfit.h"

#define SERIES_RECENT 31
#define SERIES_MISSED 3 /* shares that are missed, beside none, of which the means are kept */

/* The last values of something, for a running median. Starts as zeros. */
struct recent {
	double v[SERIES_RECENT];
	uint64_t count; /* ever added */
};

void recent_add(struct recent *r, double v);
double recent_median(const struct recent *r);
/* The robust standard deviation around the median. */
double recent_spread(const struct recent *r);

/* What is kept of a block, for each hypothesis. All members are doubles, see STATE_REAL(). */
struct member {
	double s[BLOCKFIT_HYPOTHESES], c[BLOCKFIT_HYPOTHESES];
	double bias[BLOCKFIT_HYPOTHESES], noise[BLOCKFIT_HYPOTHESES];
	double time; /* ns */
};

/* Starts as zeros, but for `hypotheses`. */
struct series {
	int hypotheses; /* how many are in use */

	/* Sums over the group: blocks of which one alone is too noisy to divide by. */
	struct member group;
	double group_n;
	uint64_t blocks; /* ever added */

	/* The time average of u = c/s, and its semi-variogram at lags 1 and 2, which tells noise
	 * from a change of the job: noise is new in every value. */
	struct recent gap;
	uint64_t values;
	double last_u[BLOCKFIT_HYPOTHESES], older_u[BLOCKFIT_HYPOTHESES], last_time, last_gap;
	double sum_weight, sum_weight2, sum_u[BLOCKFIT_HYPOTHESES];
	double diff1[BLOCKFIT_HYPOTHESES], diff2[BLOCKFIT_HYPOTHESES];
	/* The same of u as it is where more comes back than a block sees, see series_missed(). */
	double sum_missed[SERIES_MISSED][BLOCKFIT_HYPOTHESES];
	double sum_gap2, change[BLOCKFIT_HYPOTHESES]; /* change: sum of gap^2 (u - last u)^2 */
	double model_noise[BLOCKFIT_HYPOTHESES];      /* sum of u's variances by the fits */
};

void series_member(const struct fit *fits, int hypotheses, uint64_t start_ns, struct member *m);

/* Takes a block whose s has this squared relative noise, in a group where that is too much. */
void series_add(struct series *r, const struct member *m, double noise);

/* Counts the last value too, which otherwise waits for the next one to get its weight. Ask for a
 * mean or a variance only a closed copy that has at least one block, and add nothing to the copy.
 */
void series_close(struct series *r);
double series_mean(const struct series *r, int h);
double series_variance(const struct series *r, int h);

/*
 * The mean where a block misses this much of what comes back, as a share `a` of what it sees
 * (slow_refill.h): of 1 / (1 + (1/u - 1) (1 + a)). *slope: how the mean changes with a, *gain: how
 * much it changes with the mean of u.
 */
double series_missed(const struct series *r, int h, double a, double *slope, double *gain);

/* For a checkpoint: adds the state, but for `hypotheses` and `blocks`, to an object; reads it from
 * one and returns 0, or -1. */
void series_save(const struct series *r, json_t *json);
int series_load(struct series *r, const json_t *json);
