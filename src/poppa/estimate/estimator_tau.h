/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which time constant of the caches the blocks of a job speak for, in constant memory. */
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

	/* Blocks of which each is too noisy by itself, fitted together. */
	struct {
		struct fit_sums sums[BLOCKFIT_HYPOTHESES];
	} pool;
	uint64_t pooled, odd; /* blocks for it, and those that do not hold together */
	struct recent signal; /* squared distance of s and c, in terms of its variance */
};

void tau_loss_init(struct tau_loss *t);

/*
 * Counts a block's loss under each hypothesis; best is the fit, with tau number k, that its values
 * are taken from, sigma the relative noise of a window, and coherent whether the block holds
 * together. A block in which s and c hardly differ knows nothing of tau, yet its noise would speak,
 * so it counts the less the less they differ for their noise. Where most are like that, those that
 * hold together are fitted together as well: in their sum s and c do differ, and without it a small
 * degradation would rest on what is believed of tau. The sum is not trusted where many do not hold
 * together: beside co-runners that switch within milliseconds it has a tau of its own.
 */
void tau_loss_add(struct tau_loss *t, const struct fit_input *p, double sigma, bool coherent,
	const struct fit *fits, const struct fit *best, int k);

/* Grid point of least loss of a family. */
int tau_loss_least(const struct tau_loss *t, enum blockfit_family family);

/*
 * Of a mean and its variance at each of the BLOCKFIT_TAUS grid points: the mean at the tau of least
 * loss, which may lie between them. *variance is that of the mean with what a jackknife finds for
 * tau; *vague is what the losses leave open of tau beyond that.
 */
double tau_loss_mean(const struct tau_loss *t, enum blockfit_family family, const double *mean,
	const double *noise, double *variance, double *vague);

/* Adds its parts to an object, and takes them from one: 0, or -1. */
void tau_loss_save(const struct tau_loss *t, json_t *json);
int tau_loss_load(struct tau_loss *t, const json_t *json);
