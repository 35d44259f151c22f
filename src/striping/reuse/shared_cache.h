/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much programs slow each other down by sharing a cache, fast enough for all pairs of many. */
#pragma once

#include <stdbool.h>

#include "striping/reuse/histogram.h"

/* What the programs of a group share. */
struct shared_cache {
	double lines;       /* 2 or more */
	double miss_cycles; /* that a miss in it adds; more than 0 */
};

/* Eighths of an octave of pressure, from REUSE_GROUP_MAX down. */
#define CACHE_CURVE_POINTS 225

/*
 * What a program does by the pressure on the cache: how many misses all programs of a group have in
 * a cycle, multiplied by the cycles of a miss. Each program waits for its own misses only, so it
 * adds to the pressure what share of its time it waits. All that a group does to a program is the
 * pressure, so a curve is made once for each program, and groups are found with curves alone.
 */
struct cache_curve {
	float wait[CACHE_CURVE_POINTS]; /* share of its time that it waits for misses */
	float slow[CACHE_CURVE_POINTS]; /* logarithm of the time of a reference, 0 without misses */
	double alone;                   /* `slow` of the program alone on the cache */
};

/*
 * The curve of a program: the time t of a reference that follows from itself,
 *     t = c + P m(M t),
 * where c is its time without misses, an instruction a cycle; P the cycles of a miss; M the misses
 * of all in a cycle; and m(x) the share of its references that miss where x misses come between two
 * that follow each other: the equation of miss_rate_alone(), with distances stretched as MISS_COMB
 * does. Takes half a millisecond. False where the cache or the histogram is none: nothing is made.
 */
bool cache_curve_make(struct cache_curve *curve, const struct shared_cache *cache,
	const struct reuse_histogram *h);

/*
 * What a program is expected to lose beside `count` others on a cache, against alone on it, as
 * y = -log(1 - D) >= 0. The curves are of the same cache. It is what forecast_group() finds by
 * MISS_COMB, where rates follow from misses (TR-17-04, section 6.3.1), but for what lies between
 * two points of the curves. Takes time (count + 1) * 8 steps. count: REUSE_GROUP_MAX - 1 at most.
 */
double shared_cache_forecast(
	const struct cache_curve *one, const struct cache_curve *const *others, int count);
