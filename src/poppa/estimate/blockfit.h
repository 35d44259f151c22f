/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Robust fit of one shutter block under each of a grid of refill time constants. */
#pragma once

#include <stdbool.h>

#include "poppa/estimate/estimator.h"

/*
 * Model of a block. The job's rate is c beside its co-runners and s alone. When the co-runners
 * stop, the caches refill and the rate climbs from c to s as an exponential with time constant tau;
 * when they resume it falls back likewise. A window that begins t after the switch and lasts d sees
 * the mean of that: s - (s-c) g, with g = (exp(-t/tau) - exp(-(t+d)/tau)) tau/d.
 * Before and after, a share x of a window may be lent (struct est_window), and s counts for that.
 *
 * For a given tau, (s, c) is a linear fit over the block's windows. It is robust (Tukey's biweight
 * at the noise level that the caller gives), so that wild windows drop out on either side alike.
 */

/* Time constants, ns: none, then a geometric row over what caches do (0.1 to 1 ms) and some more on
 * both sides. */
#define BLOCKFIT_TAUS 20
#define BLOCKFIT_TAU_FIRST 80e3
#define BLOCKFIT_TAU_STEP 1.2
double blockfit_tau(int i);

/* Which windows a fit uses: those before and during, or all, with one tau for refill and decay. */
enum blockfit_family { BLOCKFIT_BEFORE, BLOCKFIT_ALL, BLOCKFIT_FAMILIES };

/* A hypothesis is a family and a tau: number family * BLOCKFIT_TAUS + i. */
#define BLOCKFIT_HYPOTHESES (BLOCKFIT_TAUS * BLOCKFIT_FAMILIES)

/* One window of a block, ready for fitting. */
struct fit_sample {
	double rate;
	double weight;           /* below 1 for a window shorter than the others */
	double g[BLOCKFIT_TAUS]; /* share of (s-c) that has not arrived, or not gone yet */
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

/* How many of that many windows before, from the first, no fit uses: the daemon wakes up in the
 * first one, on a core of some job. */
int blockfit_skip(int before_n);

/*
 * Which reading afterwards, with that many windows, no fit needs; 0 = each. Two windows of the
 * decay as one say as much of it as they do by themselves (tests/gen/estimator_table), and the
 * second half, in which it is over, stays as it is.
 */
int blockfit_spared(int after_n);

/* Takes the rates out of a block. */
void blockfit_prepare(const struct est_block *b, struct fit_input *p);

/*
 * Fits the block under every hypothesis into fits[BLOCKFIT_HYPOTHESES]. sigma: relative noise of a
 * window. 0, or -1 when the
 * windows do not suffice; then nothing is to be learnt from the block.
 */
int blockfit_all(const struct fit_input *p, double sigma, struct fit *fits);

/*
 * Fits the block under every time constant into fits[BLOCKFIT_TAUS] without choosing among its
 * windows: s and c are means over what there is, whatever state the job or its co-runners were in.
 * Only a window far above all others is left out, in any region alike. The variances are those for
 * windows of relative variance `window_variance`. 0, or -1 without enough windows.
 */
int blockfit_means(const struct fit_input *p, double window_variance, struct fit *fits);

/*
 * Semi-variogram of the rate while the job runs alone, relative to s, at lags of one, two and three
 * quarters of the region, under fit f of blockfit_means() with tau number k. False where the region
 * has no quarters.
 */
#define BLOCKFIT_LAGS 3
bool blockfit_variogram(const struct fit_input *p, int k, const struct fit *f, double *v);

/* Sums of a weighted fit of rate = s*(1-x) + c*x. All doubles. */
struct fit_sums {
	double ss, sc, cc, sr, cr, rr;
};

/*
 * Adds the block's windows, relative to their mean, to the sums of every hypothesis
 * (sums[BLOCKFIT_HYPOTHESES]), for one fit to many blocks that are too noisy to speak of tau each
 * by itself. Left out is what fit f, made with tau number best, leaves out. Windows do not weigh
 * by their fitted rate: it has their noise, and a tau that makes them weigh less would look better.
 */
void blockfit_pool(const struct fit_input *p, int best, const struct fit *f, double sigma,
	struct fit_sums *sums);

/* Loss of that fit, on the scale of struct fit's. */
double blockfit_pool_loss(const struct fit_sums *sums);

/* Relative variance of c/s. */
double blockfit_variance(const struct fit *f);

/* Whether most windows of each region fit together, under the tau that suits this block best.
 * fits[] is what blockfit_all() gave. */
bool blockfit_coherent(const struct fit_input *p, const struct fit *fits);

/* Relative noise of a window as this block shows it under fit f, made with tau number k; NAN when
 * there are too few windows. The other one guesses it before there is any fit. */
double blockfit_sigma(const struct fit_input *p, int k, const struct fit *f);
double blockfit_first_sigma(const struct fit_input *p);

/*
 * log of the co-run rate before over that after, what still decays under fit f taken off; NAN where
 * one is missing. *noise is its standard deviation for windows of unit noise.
 */
double blockfit_shift(const struct fit_input *p, int k, const struct fit *f, double *noise);
