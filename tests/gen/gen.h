/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes shutter blocks of jobs whose true degradation is known. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "poppa/estimate/estimator.h"

#define GEN_MAX_JOBS 8
#define GEN_MAX_PHASES 8
#define GEN_BEYOND EST_BEYOND /* windows, which last for 55 shutters */

/* When blocks come. */
enum gen_rate {
	GEN_RATE_STEADY,    /* every period */
	GEN_RATE_BY_PHASE,  /* every 8th period while job 0 is in a phase of odd number */
	GEN_RATE_BY_CHANGE, /* from every period after a change of job 0's phase to every 8th */
};

struct gen_spec {
	uint64_t seed;
	int jobs;             /* on the node; each runs alone in every jobs-th block */
	int phases;           /* each with a rate and a degradation of its own */
	double cycle_s;       /* the phases come round in about this time; 0 = each comes once */
	double unsteady;      /* a phase's length varies by this share of it, evenly */
	bool shuffled;        /* phases at random, with exponential lengths */
	double d_min, d_max;  /* range that a phase's degradation is drawn from */
	bool graded;          /* not drawn: evenly from d_min in the first to d_max in the last */
	double noise;         /* relative standard deviation of a window */
	double outliers;      /* share of windows that show something else altogether */
	double tau_refill_ns; /* rate climbs to solo after the co-runners stopped */
	double tau_decay_ns;  /* and falls back after they resumed */
	/* This share of (solo - co) comes back slowly, with a time constant of its own; or evenly,
	 * in so long a time. After the resume it goes in the same way; 0 = at once. */
	double slow_share, slow_ns, slow_decay_ns;
	bool slow_linear;
	double late;        /* share of windows in which the daemon woke up late */
	double slow_resume; /* share of blocks whose co-runners come back late */
	double lost;        /* share of windows that are missing */
	/* The co-runners pause by themselves: for this share of the time, each time for so long on
	 * average, exponentially. */
	double idle_share, idle_ns;
	/* The job itself runs at another speed for this share of the time, alike; in it, it loses
	 * so many times as much as otherwise. */
	double burst_share, burst_ns, burst_speed, burst_loss;
	/* It works in steps of so long alone, each up to a quarter longer or shorter, and makes its
	 * progress in the first share of each; 0 = evenly. */
	double step_ns, step_share;
	bool cycles; /* else progress a nanosecond */
	int windows; /* K */
	double shutter_ns, period_ns;
	double jitter; /* share of the period by which a block comes early or late */
	bool slots;    /* from the middle of its slot in a row of them, not after a sleep */
	bool drawn;    /* who runs alone is drawn, not taken in turn */
	enum gen_rate rate;
	int beyond; /* windows of a long block, beyond the K, see gen_long(); 0 = no long block */
	double length_s;
};

/* 2 jobs, 3 phases that come round in 8 s and vary by a fifth, D 0 to 0.7, 5 % noise, tau 0.3 ms,
 * P = 200 ms with 5 % jitter, S = 3.2 ms, K = 4, 300 s, cycles, 2 % outliers, 2 % late wake-ups,
 * no long blocks. */
void gen_defaults(struct gen_spec *spec);

struct gen;

/* NULL when out of memory or for a spec out of range. The same spec gives the same blocks. */
struct gen *gen_new(const struct gen_spec *spec);
void gen_free(struct gen *g);

/* 1 - time average of co-run over solo rate, over the whole length. */
double gen_truth(const struct gen *g, int job);

/*
 * The next block: block[j] for every job, with during windows for *alone only. A lost window has
 * progress NAN. Returns false at the end.
 */
bool gen_next(struct gen *g, int *alone, struct est_block *block);

/*
 * The next long block of a job shall have so many windows, at most spec.beyond; 0: it has to wait.
 * Without a call it has spec.beyond of them.
 */
void gen_long(struct gen *g, int job, int windows);

/* Uniform number in [0, 1) from the generator's own stream. */
double gen_uniform(struct gen *g);
