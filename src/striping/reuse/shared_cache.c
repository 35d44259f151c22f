/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes curves of programs, and finds the pressure at which those of a group agree. */
#include "striping/reuse/shared_cache.h"

#include <math.h>

#define POINTS_AN_OCTAVE 8
/* Newton's method comes from above, and is as near as a float then. */
#define STEPS 60
#define NEAR 1e-9

static double pressure_at(int point)
{
	return REUSE_GROUP_MAX * exp2((double)(point - CACHE_CURVE_POINTS + 1) / POINTS_AN_OCTAVE);
}

/* A program on a cache. Times are in units of a reference's without misses. */
struct placed {
	const struct reuse_histogram *h;
	double stays;   /* logarithm of how probably a line stays when one is missed */
	double miss;    /* the time of a miss */
	double between; /* misses of all in that unit, at a pressure of 1 */
};

/* The time u less what follows from it. *slope: its derivative. */
static double excess(const struct placed *p, double pressure, double u, double *slope)
{
	double x = pressure * p->between * u, missed = p->h->cold, rises = 0;

	for (int k = 0; k < REUSE_BUCKETS; k++) {
		const struct reuse_bucket *b = &p->h->bucket[k];
		double gone, a = p->stays * b->mean;

		if (b->count <= 0)
			continue;
		gone = expm1(a * x);
		missed -= b->count * gone;
		rises -= b->count * a * (gone + 1);
	}
	*slope = 1 - pressure * p->between * p->miss * rises / p->h->references;
	return u - 1 - p->miss * missed / p->h->references;
}

/* The time of a reference, from above: what follows from a time is a concave function of it, so
 * Newton's method never goes below the solution. */
static double solve(const struct placed *p, double pressure, double u)
{
	for (int step = 0; step < STEPS; step++) {
		double slope, over = excess(p, pressure, u, &slope), next;

		if (!(over > 0) || !(slope > 0))
			break;
		next = u - over / slope;
		if (!(next < u * (1 - NEAR)))
			break;
		u = fmax(next, 1);
	}
	return u;
}

/* References per cycle of a program without misses. */
static double pace(const struct reuse_histogram *h, const struct miss_line *line)
{
	double rate = reuse_rate(h) / line->base_cycles;

	return rate > 0 ? rate : 1 / line->base_cycles;
}

bool cache_curve_make(struct cache_curve *curve, const struct shared_cache *cache,
	const struct reuse_histogram *h, const struct miss_line *line)
{
	const struct miss_line usual = {1, cache->miss_cycles}, *its = line ? line : &usual;
	struct placed p = {.h = h};
	double u;

	if (!(cache->lines >= 2) || !(cache->miss_cycles > 0) || !(h->references > 0) ||
		!(its->base_cycles > 0) || !(its->miss_cycles > 0))
		return false;
	p.stays = log1p(-1 / cache->lines);
	p.miss = its->miss_cycles * pace(h, its);
	p.between = 1 / (cache->miss_cycles * pace(h, its));
	u = 1 + p.miss;
	for (int i = CACHE_CURVE_POINTS - 1; i >= 0; i--) {
		u = solve(&p, pressure_at(i), u);
		curve->adds[i] = (float)((1 - 1 / u) * cache->miss_cycles / its->miss_cycles);
		curve->slow[i] = (float)log(u);
	}
	curve->alone = 0;
	curve->alone = shared_cache_forecast(curve, NULL, 0);
	return true;
}

/* By how much more than this pressure the group makes. */
static double surplus(const struct cache_curve *one, const struct cache_curve *const *others,
	int count, int point)
{
	double sum = one->adds[point] - pressure_at(point);

	for (int i = 0; i < count; i++)
		sum += others[i]->adds[point];
	return sum;
}

double shared_cache_forecast(
	const struct cache_curve *one, const struct cache_curve *const *others, int count)
{
	int low = 0, high = CACHE_CURVE_POINTS - 1;
	double below, above, part;

	/* Nobody waits all of the time, so where misses take as long as is usual, the pressure is
	 * below that of the last point. */
	while (high - low > 1) {
		int mid = (low + high) / 2;

		if (surplus(one, others, count, mid) > 0)
			low = mid;
		else
			high = mid;
	}
	below = surplus(one, others, count, low);
	above = surplus(one, others, count, high);
	/* Where even the first point is too high, next to nothing is missed. */
	part = !(below > 0) ? 0 : above < 0 ? below / (below - above) : 1;
	return fmax(one->slow[low] + part * (one->slow[high] - one->slow[low]) - one->alone, 0);
}
