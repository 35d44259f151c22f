/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Learns from long blocks what comes back too slowly for a usual shutter, in constant memory. */
#pragma once

#include <stdint.h>
#include <jansson.h>

#include "accounting/record/slow_prior.h"
#include "poppa/estimate/blockfit.h"

/*
 * When co-runners stop, memory bandwidth is back at once, and the last-level cache refills over 2
 * to 200 ms. A usual block ends before that: its fit says s, and the rate alone is higher, s_inf.
 * What is learned is
 *
 *     a = (s_inf - s) / (s - c)
 *
 * the missed part as a share of what a usual block sees. It belongs to the machine and to how the
 * job uses its caches; a job that loses nothing by its co-runner gets no correction from it.
 *
 * One block's own s is too noisy for that. So a long block is compared with the s of the blocks
 * before and after it that had the same c and s within noise: the same phase of the job. These are
 * not many, since machines drift.
 */

#define SLOW_RECENT 10 /* usual blocks before a long one that it is compared with */
#define SLOW_ENOUGH 64 /* such blocks in all, before and after */
#define SLOW_BLOCKS 16 /* long blocks that count: the last ones */
#define SLOW_WINDOWS EST_BEYOND

/* All members of both are doubles, see STATE_REAL(). */
struct slow_recent {
	double s[BLOCKFIT_TAUS], c[BLOCKFIT_TAUS], vss, vcc, time;
};

struct slow_block {
	double own_s[BLOCKFIT_TAUS], own_c[BLOCKFIT_TAUS];
	double s[BLOCKFIT_TAUS], c[BLOCKFIT_TAUS]; /* means of the usual blocks of this phase */
	double vss, vcc;                           /* relative variances of one block's */
	/* Sums over those blocks: of weights, of their squares, and of weighted squares of log s.
	 */
	double weight, weight2, spread;
	double noise;    /* relative variance of a window as long as a usual block's */
	double usual_ns; /* how long that is */
	double windows;
	double end[SLOW_WINDOWS + 1]; /* since the stop, ns; [0]: of the region during */
	double rate[SLOW_WINDOWS];    /* -1: not read (JSON has no NAN) */
};

/* What long blocks say of a: the best guess and its variance. */
struct slow_share {
	double a, variance;
};

/* Starts with slow_refill_init(). */
struct slow_refill {
	struct slow_prior prior; /* never changes, nor does the next one */
	uint64_t awaited;        /* 1: there are to be long blocks */
	struct slow_recent recent[SLOW_RECENT];
	struct slow_block block[SLOW_BLOCKS];
	uint64_t recents, blocks;  /* ever added */
	struct slow_share near[2]; /* `share` at the grid points of tau below and above */
	struct slow_share share;   /* zeros until there is a long block; see slow_refill_share() */
	/* How well each hypothesis of the prior explains the long blocks, without the prior: sums
	 * to 1. Alike where there is no long block. */
	double likelihood[SLOW_HYPOTHESES];
	/* Blocks, tau, and blocks that are compared with enough, that `share` is of. */
	uint64_t weighed, weighed_tau, weighed_complete;
	double bursts;     /* likewise */
	double windows;    /* that long blocks should have by what is known; 0: nothing is */
	double moves, gap; /* share of usual blocks that follow one of another phase; ns between */
	double drift;      /* relative variance of windows, whatever their length */
	double unsteady;   /* relative variance of s by phases that are shorter than the time
			      between blocks */
};

/* An empty state, with this prior (slow_prior_valid()). NULL: no long block is awaited; if one
 * comes all the same, the default is its prior. */
void slow_refill_init(struct slow_refill *r, const struct slow_prior *prior);

/*
 * Takes a block that was used, with its fits under every tau (fits[BLOCKFIT_TAUS]), of which number
 * best suits the job. sigma: relative noise of a window. bursts: relative variance of the job's
 * rate by its own bursts of some milliseconds, of which a usual block sees one and a long one the
 * mean.
 */
void slow_refill_add(struct slow_refill *r, const struct est_block *b, const struct fit *fits,
	int best, double sigma, double bursts);

/*
 * Works out `share` and `likelihood` anew where there is a new long block or another tau suits
 * best. The share is the mean over all paces at which something may come back, and over that
 * nothing does, each as likely as the prior and the blocks make it. So a little that might as well
 * be noise is hardly corrected.
 */
void slow_refill_weigh(struct slow_refill *r, int best, double bursts);

/* What is known of a, by the fits of usual blocks under tau number k: under another tau, these say
 * another s. Where the first long block is still awaited nothing is corrected, and the variance is
 * that of the prior about none: an interval says so. */
struct slow_share slow_refill_share(const struct slow_refill *r, int k);

/* How many windows beyond the next long block should have: all in the first one, and then as many
 * as tell most in the time that they take, of the paces that are still likely. */
int slow_refill_windows(const struct slow_refill *r);

/* For a checkpoint: the state, which the caller owns; reads it from one and returns 0, or -1. */
json_t *slow_refill_save(const struct slow_refill *r);
int slow_refill_load(struct slow_refill *r, const json_t *json);
