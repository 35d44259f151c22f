/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Robust fit of one shutter block under each of a grid of refill time constants. */
#pragma once

#include <stdbool.h>

#include "poppa/estimate/estimator.h"

/*
 * Model of a block. The job's rate is c beside its co-runners and s alone. When the co-runners
 * stop, the caches refill and the rate climbs from c to s as an exponential with time constant tau;
 * when they resume, it falls back in the same way. A window that begins t after the switch and
 * lasts d shows the mean of that: s - (s-c) g, with g = (exp(-t/tau) - exp(-(t+d)/tau)) tau/d.
 * Before and after, a share of a window may be lent (struct est_window); its rate counts as s.
 *
 * For a given tau, (s, c) is a linear fit over the block's windows. It is robust (Tukey's biweight
 * at the noise level that the caller gives), so it drops wild windows that are too high and those
 * that are too low alike.
 */

/* Time constants, ns: none, then a geometric row over those of caches (0.1 to 1 ms) and beyond. */
#define BLOCKFIT_TAUS 20
#define BLOCKFIT_TAU_FIRST 80e3
#define BLOCKFIT_TAU_STEP 1.2
double blockfit_tau(int i);

/* Which windows a fit uses: those before and during; or all, with one tau for refill and decay. */
enum blockfit_family { BLOCKFIT_BEFORE, BLOCKFIT_ALL, BLOCKFIT_FAMILIES };

/* A hypothesis is a family and a tau: number family * BLOCKFIT_TAUS + i. */
#define BLOCKFIT_HYPOTHESES (BLOCKFIT_TAUS * BLOCKFIT_FAMILIES)

/* One window of a block, ready for fitting. */
struct fit_sample {
	double rate;
	double weight;           /* below 1 for a window shorter than the others */
	double g[BLOCKFIT_TAUS]; /* share of (s-c) that has not come yet, or has not gone yet */
};

struct fit_region {
	int n;
	struct fit_sample s[EST_MAX_WINDOWS];
};

struct fit_input {
	struct fit_region before, during, after;
};

/* The outcome under one hypothesis. */
struct fit {
	double s, c;
	double vss, vsc, vcc; /* relative variances and covariance of s and c */
	double loss;
	double kept_before, kept_during; /* share of the windows' weight that the fit kept */
};

/* How many of the before_n windows no fit uses, from the first: in the first window the daemon
 * wakes up, on a core of some job. */
int blockfit_skip(int before_n);

/* Which reading no fit needs in a region after of after_n windows; 0 = none. Two windows of the
 * decay tell as much when they are one (tests/gen/estimator_table). */
int blockfit_spared(int after_n);

/* Takes the rates out of a block. */
void blockfit_prepare(const struct est_block *b, struct fit_input *p);

/* Fits the block under every hypothesis into fits[BLOCKFIT_HYPOTHESES]. sigma: relative noise of a
 * window. 0, or -1 with too few windows: then the block is of no use. */
int blockfit_all(const struct fit_input *p, double sigma, struct fit *fits);

/*
 * Fits the block under every time constant into fits[BLOCKFIT_TAUS] without choosing among its
 * windows: s and c are means, whatever state the job or its co-runners were in. Only a window far
 * above all others is left out, in every region. The variances are those for windows of relative
 * variance `window_variance`. 0, or -1 with too few windows.
 */
int blockfit_means(const struct fit_input *p, double window_variance, struct fit *fits);

/* Semi-variogram of the rate while the job runs alone, relative to s, at lags of one, two and three
 * quarters of the region, under fit f of blockfit_means() with tau number k. climb[]: by how much
 * the rate is higher at the end of each lag. False with too few windows for quarters. */
#define BLOCKFIT_LAGS 3
bool blockfit_variogram(
	const struct fit_input *p, int k, const struct fit *f, double *v, double *climb);

/* Sums of a weighted fit of rate = s*(1-x) + c*x. All members are doubles, see STATE_REAL(). */
struct fit_sums {
	double ss, sc, cc, sr, cr, rr;
};

/*
 * Adds the block's windows, relative to their mean, to the sums of every hypothesis
 * (sums[BLOCKFIT_HYPOTHESES]): one fit of many blocks of which each is too noisy to tell of tau. It
 * leaves out what fit f, made with tau number best, leaves out. The weights do not depend on the
 * fitted rate, as that has noise too: a tau that makes weights smaller would look better.
 */
void blockfit_pool(const struct fit_input *p, int best, const struct fit *f, double sigma,
	struct fit_sums *sums);

/* The loss of that fit, in the unit of struct fit. */
double blockfit_pool_loss(const struct fit_sums *sums);

/* Relative variance of c/s. */
double blockfit_variance(const struct fit *f);

/* Whether the block holds together: most windows of each region fit, under the tau that suits this
 * block best. fits[] is what blockfit_all() gave. */
bool blockfit_coherent(const struct fit_input *p, const struct fit *fits);

/* The relative noise of a window that this block shows under fit f, made with tau number k; NAN
 * with too few windows. blockfit_first_sigma() guesses it without a fit. */
double blockfit_sigma(const struct fit_input *p, int k, const struct fit *f);
double blockfit_first_sigma(const struct fit_input *p);

/* log of the co-run rate before divided by the one after, without what still decays under fit f;
 * NAN where one is missing. *noise is its standard deviation for windows of unit noise. */
double blockfit_shift(const struct fit_input *p, int k, const struct fit *f, double *noise);
