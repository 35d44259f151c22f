/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time average of the ratio of two rates over blocks, and its variance, in constant memory. */
#pragma once

#include <stdint.h>
#include <jansson.h>

#include "poppa/estimate/blockfit.h"

#define SERIES_RECENT 31

/* The last few of something, for a running median. Starts as zeros. */
struct recent {
	double v[SERIES_RECENT];
	uint64_t count; /* ever added */
};

void recent_add(struct recent *r, double v);
double recent_median(const struct recent *r);
/* Robust standard deviation around the median. */
double recent_spread(const struct recent *r);

/* What is kept of a block, for each hypothesis. All doubles. */
struct member {
	double s[BLOCKFIT_HYPOTHESES], c[BLOCKFIT_HYPOTHESES];
	double bias[BLOCKFIT_HYPOTHESES], noise[BLOCKFIT_HYPOTHESES];
	double time; /* ns */
};

/* Starts as zeros, but for `hypotheses`: so many are in use. */
struct series {
	int hypotheses;

	/*
	 * Blocks whose ratio is taken together, because a single one is too noisy to divide by:
	 * their sums.
	 */
	struct member group;
	double group_n;
	uint64_t blocks; /* ever added */

	/*
	 * Time average of u = c/s, and its semi-variogram at lags 1 and 2: what tells noise, which
	 * is new in every value, from a job that changes.
	 */
	struct recent gap;
	uint64_t values;
	double last_u[BLOCKFIT_HYPOTHESES], older_u[BLOCKFIT_HYPOTHESES], last_time, last_gap;
	double sum_weight, sum_weight2, sum_u[BLOCKFIT_HYPOTHESES];
	double diff1[BLOCKFIT_HYPOTHESES], diff2[BLOCKFIT_HYPOTHESES];
	double sum_gap2, change[BLOCKFIT_HYPOTHESES]; /* change: of gap^2 (u - last u)^2 */
	double model_noise[BLOCKFIT_HYPOTHESES];      /* sum of what the fits expect for u */
};

void series_member(const struct fit *fits, int hypotheses, uint64_t start_ns, struct member *m);

/* Takes a block whose s has this squared relative noise: with others where it is too noisy. */
void series_add(struct series *r, const struct member *m, double noise);

/* Counts the last value, whose weight is else known only when the next one comes. Close a copy,
 * with at least one block in it, before asking it for its mean and its variance; add nothing to it
 * then.
 */
void series_close(struct series *r);
double series_mean(const struct series *r, int h);
double series_variance(const struct series *r, int h);

/* Adds its parts to an object, and takes them from one: 0, or -1. `hypotheses` is not among them.
 */
void series_save(const struct series *r, json_t *json);
int series_load(struct series *r, const json_t *json);
