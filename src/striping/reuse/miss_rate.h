/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expected miss rates of programs, alone on a cache and together, from their reuse distances. */
#pragma once

#include "striping/reuse/histogram.h"

/*
 * Misses per reference of a program alone on a fully associative cache of so many lines with random
 * replacement, which is near to others, too: the R that solves
 *     R N = cold + sum over buckets of h_k (1 - (1 - 1/C)^(k R))
 * (Berg and Hagersten, "StatCache: A Probabilistic Approach to Efficient and Accurate Data Locality
 * Analysis", ISPASS 2004; TR-17-04, section 6.3). 1 where there is no more than one line.
 */
double miss_rate_alone(const struct reuse_histogram *h, double lines);

/* A program in a group: rate is how many references it makes in a time, in the same unit as the
 * others of the group, and more than 0. */
struct miss_rate_member {
	const struct reuse_histogram *h;
	double rate;
	double miss_rate; /* an answer: its misses per reference in the group */
};

/*
 * How a group is expected. COMB (TR-17-04, section 6.3.1) sums the histograms, each scaled by its
 * rate, with distances multiplied: by how many references the others make while the program makes
 * one (MISS_COMB_OTHERS; n - 1 for n programs of equal rates), or all of them (MISS_COMB; n). The
 * TR found n - 1 better for larger caches and n for smaller ones. AVG (section 6.3.2) is the mean
 * of the miss rates, weighted by the rates, each program alone on its part of the cache. It needs
 * no histogram of the group and adds up what each program brings, so it can tell which groups fit
 * but not who suits whom.
 */
enum miss_rate_method { MISS_COMB, MISS_COMB_OTHERS, MISS_AVG };

/* Misses per reference of all count programs that share a cache of so many lines. */
double miss_rate_group(
	struct miss_rate_member *m, int count, double lines, enum miss_rate_method method);
