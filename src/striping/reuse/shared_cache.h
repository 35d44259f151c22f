/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much programs slow each other down by sharing a cache, fast enough for all pairs of many. */
#pragma once

#include <stdbool.h>

#include "striping/reuse/histogram.h"

/* What the programs of a group share. */
struct shared_cache {
	double lines;       /* 2 or more */
	double miss_cycles; /* that a miss in it adds to a program of which no more is known; more
			       than 0 */
};

/*
 * What time a program takes by its misses in that cache, where that was measured: cycles per
 * instruction are base + miss * misses per instruction (Breslow's thesis, section 2.4.2). Both are
 * more than 0.
 */
struct miss_line {
	double base_cycles; /* of an instruction without a miss */
	double miss_cycles; /* that a miss adds */
};

/* Eighths of an octave of pressure, from REUSE_GROUP_MAX down. */
#define CACHE_CURVE_POINTS 225

/*
 * What a program does by the pressure on the cache: how many misses all programs of a group have in
 * a cycle, multiplied by the cache's miss_cycles. Each program waits for its own misses only, so it
 * adds to the pressure what share of its time it waits, divided by what a miss of its own takes in
 * units of miss_cycles. All that a group does to a program is the pressure, so a curve is made once
 * for each program, and groups are found with curves alone.
 */
struct cache_curve {
	float adds[CACHE_CURVE_POINTS]; /* to the pressure */
	float slow[CACHE_CURVE_POINTS]; /* logarithm of the time of a reference, 0 without misses */
	double alone;                   /* `slow` of the program alone on the cache */
};

/*
 * The curve of a program: the time t of a reference, in cycles, that follows from itself,
 *     t = c + P m(M t),
 * where c is its time without misses, P the cycles of a miss, M the misses of all in a cycle, and
 * m(x) the share of its references that miss where x misses come between two that follow each
 * other: the equation of miss_rate_alone(), with distances stretched as MISS_COMB does. A line is
 * of instructions, and of these 1 / reuse_rate() come with a reference: c = base_cycles /
 * reuse_rate(). P is of a miss, whatever had it, and so the same of a reference. Where no line is
 * known (NULL), an instruction takes a cycle, and P is the cache's. Takes half a millisecond. False
 * where the cache, the line or the histogram is none: nothing is made.
 */
bool cache_curve_make(struct cache_curve *curve, const struct shared_cache *cache,
	const struct reuse_histogram *h, const struct miss_line *line);

/*
 * What a program is expected to lose beside `count` others on a cache, against alone on it, as
 * y = -log(1 - D) >= 0. The curves are of the same cache. It is what forecast_group() finds by
 * MISS_COMB, where rates follow from misses (TR-17-04, section 6.3.1), but for what lies between
 * two points of the curves. A pressure above REUSE_GROUP_MAX, which only misses that take much less
 * than miss_cycles can make, counts as that. Takes time (count + 1) * 8 steps. count:
 * REUSE_GROUP_MAX - 1 at most.
 */
double shared_cache_forecast(
	const struct cache_curve *one, const struct cache_curve *const *others, int count);
