/* SPDX-License-Identifier: GPL-2.0-or-later */
/* StatCache's equation, and what TR-17-04 makes of it for programs that share a cache. */
#include "striping/reuse/miss_rate.h"

#include <math.h>

/* Each halves what is not known of a miss rate. */
#define STEPS 40

/* Misses per reference of a program, of whose distances each is so many times as long, where all
 * references to the cache miss at rate r. */
static double missed(const struct reuse_histogram *h, double stretch, double lines, double r)
{
	double log_stays = log1p(-1 / lines), misses = h->cold;

	for (int k = 0; k < REUSE_BUCKETS; k++)
		misses -= h->bucket[k].count * expm1(log_stays * h->bucket[k].mean * stretch * r);
	return misses / h->references;
}

/* What follows from the rate r, and for each program, too. */
static double group_missed(struct miss_rate_member *m, int count, double lines,
	enum miss_rate_method method, double total, double r)
{
	double misses = 0;

	for (int i = 0; i < count; i++) {
		double meanwhile = method == MISS_COMB ? total : total - m[i].rate;

		m[i].miss_rate = missed(m[i].h, meanwhile / m[i].rate, lines, r);
		misses += m[i].rate / total * m[i].miss_rate;
	}
	return misses;
}

/* The rate that follows from itself. What follows from a rate is a concave function of it, so it is
 * above the rate below the solution, and nowhere else. */
static double combined(
	struct miss_rate_member *m, int count, double lines, enum miss_rate_method method)
{
	double low = 0, high = 1, total = 0;

	for (int i = 0; i < count; i++)
		total += m[i].rate;
	for (int step = 0; step < STEPS; step++) {
		double r = (low + high) / 2;

		if (group_missed(m, count, lines, method, total, r) > r)
			low = r;
		else
			high = r;
	}
	return high;
}

double miss_rate_alone(const struct reuse_histogram *h, double lines)
{
	struct miss_rate_member m = {.h = h, .rate = 1};

	return miss_rate_group(&m, 1, lines, MISS_COMB);
}

double miss_rate_group(
	struct miss_rate_member *m, int count, double lines, enum miss_rate_method method)
{
	double total = 0, misses = 0;

	if (method != MISS_AVG && lines > 1)
		return combined(m, count, lines, method);
	for (int i = 0; i < count; i++) {
		m[i].miss_rate = lines > count ? miss_rate_alone(m[i].h, lines / count) : 1;
		total += m[i].rate;
		misses += m[i].rate * m[i].miss_rate;
	}
	return misses / total;
}
