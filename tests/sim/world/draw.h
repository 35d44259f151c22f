/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that depend on nothing but what they are for, so that all policies get the same.
 */
#pragma once

#include <stdint.h>

/* What a number is for: numbers of two purposes have nothing in common. */
enum draw_purpose {
	DRAW_ROW,       /* the matrix row of a class */
	DRAW_CLASS,     /* the class of a job of a trace that has none */
	DRAW_CAP,       /* whether a job has a limit for its degradation */
	DRAW_REQUEUE,   /* whether a job is requeued */
	DRAW_WHEN,      /* and when */
	DRAW_RUN,       /* how a run of a pair differs from the matrix */
	DRAW_MEASURE,   /* how a measured degradation differs from the true one */
	DRAW_BLOCK,     /* the same of one block */
	DRAW_PARTNER,   /* which partner */
	DRAW_MATRIX,    /* where a cell of the matrix goes to */
	DRAW_DRIFTS,    /* whether a class drifts */
	DRAW_DRIFT_ROW, /* and where to */
	DRAW_REFERENCE, /* which line a made-up program refers to */
	DRAW_REPLACED,  /* which line a cache gives up */
	DRAW_PAGE       /* where in memory a page lies */
};

/* 64 bits, the same for the same four numbers (SplitMix64 over them). */
uint64_t draw_bits(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b);

/* Evenly distributed in [0, 1). */
double draw_uniform(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b);

/* Evenly distributed in 0 .. n-1. */
int draw_below(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b, int n);

/* Normally distributed, mean 0 and standard deviation 1 (Box and Muller). */
double draw_normal(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b);
