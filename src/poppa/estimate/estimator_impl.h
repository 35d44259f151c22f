/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of the estimators, for estimator.c only. */
#pragma once

#include "poppa/estimate/estimator.h"

/* A checkpoint has the two counts as one array and the five sums as another, in this order. */
struct thesis_state {
	uint64_t blocks, used;
	double sum_co, sum_solo, sum_co2, sum_solo2, sum_cross;
};

/* Without the filter every block counts that has a rate on either side (the thesis, equations 3.7
 * and 3.8); with it, those that Algorithm 4 keeps. */
bool thesis_add(struct thesis_state *t, const struct est_block *block, bool filter);
void thesis_result(const struct thesis_state *t, struct est_result *out);
json_t *thesis_save(const struct thesis_state *t);
int thesis_load(struct thesis_state *t, const json_t *json);

struct robust_state;

struct robust_state *robust_new(const struct slow_prior *prior);
bool robust_add(struct robust_state *r, const struct est_block *block);
int robust_long_windows(const struct robust_state *r);
const struct slow_prior *robust_prior(const struct robust_state *r);
uint64_t robust_likelihood(const struct robust_state *r, double likelihood[SLOW_HYPOTHESES]);
void robust_result(const struct robust_state *r, struct est_result *out);
json_t *robust_save(const struct robust_state *r);
int robust_load(struct robust_state *r, const json_t *json);
