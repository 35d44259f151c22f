/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the time constant of the caches that a job's blocks suit best, in constant memory. */
#pragma once

#include <stdint.h>
#include <jansson.h>

#include "poppa/estimate/blockfit.h"
#include "poppa/estimate/estimator_series.h"

#define TAU_BATCHES 16 /* for the jackknife */

struct tau_loss {
	/* Loss of each hypothesis in batches of blocks: when all are full, pairs are merged. */
	double loss[TAU_BATCHES][BLOCKFIT_HYPOTHESES];
	uint64_t batch_blocks[TAU_BATCHES];
	uint64_t batch_size;

	struct fit_sums pool[BLOCKFIT_HYPOTHESES]; /* one fit of blocks that are too noisy alone */
	uint64_t pooled;                           /* blocks that were meant for the pool */
	uint64_t odd;         /* those of them that do not hold together and are not in it */
	struct recent signal; /* squared distance of s and c, divided by its variance */
};

void tau_loss_init(struct tau_loss *t);

/*
 * Counts a block's loss under each hypothesis. `best` is the fit that the block's values are taken
 * from, and k its tau's number; sigma is the relative noise of a window; `coherent` says whether
 * the block holds together. Where s and c differ little compared with their noise, a block tells
 * nothing of tau but its noise seems to, so such a block counts less. Where most blocks are like
 * that, those that hold together are also fitted as one pool, in which s and c do differ; without
 * it the tau of a small degradation would be the prior's. The pool is not trusted where many blocks
 * do not hold together: beside co-runners that switch within milliseconds it has a wrong tau.
 */
void tau_loss_add(struct tau_loss *t, const struct fit_input *p, double sigma, bool coherent,
	const struct fit *fits, const struct fit *best, int k);

/* The grid point that has the least loss in a family. */
int tau_loss_least(const struct tau_loss *t, enum blockfit_family family);

/*
 * Given a mean and its variance (`noise`) at each of the BLOCKFIT_TAUS grid points, returns the
 * mean at the tau of least loss, which may lie between two points. *variance: of that mean, and of
 * tau as a jackknife finds it. *vague: the variance by tau that the losses leave open beyond that.
 */
double tau_loss_mean(const struct tau_loss *t, enum blockfit_family family, const double *mean,
	const double *noise, double *variance, double *vague);

/* For a checkpoint: adds the state to an object; reads it from one and returns 0, or -1. */
void tau_loss_save(const struct tau_loss *t, json_t *json);
int tau_loss_load(struct tau_loss *t, const json_t *json);
