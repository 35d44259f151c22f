/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs what lanes bring and cost. */
#include "striping/partners/lane_yield.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* What an empty node costs while others wait, and what lanes must bring for the job to take them,
 * both as shares of a lane at its usual speed. Chosen by trying a few values on the development
 * data (docs/partners.md). */
#define EMPTY_COST 0.13
#define ENOUGH 0.9

/* Where two jobs are expected to make less than this, they had better run one after the other. 1
 * is break-even; but expectations are off by some 3 %, and what is never tried is never known. */
#define EVEN 0.97

/* Steps of a pace, and how many there are. */
#define PACES 256
#define PACE_STEP 0.01

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static int pace_of(double speed)
{
	long pace = lround(speed / PACE_STEP);

	return pace < 0 ? 0 : pace < PACES ? (int)pace : PACES - 1;
}

int lane_misfit(int nodes, int need)
{
	return nodes >= need ? nodes - need : INT_MAX - nodes;
}

/* How fast the partner is beside the job; 0 where there is none. */
static double left_of(const struct outlook *o, int mine, const struct lane_offer *f)
{
	return f->partner == LANE_NOBODY ? 0 : fmin(f->now, outlook_speed(o, f->partner, mine));
}

/* What the partner, which then is that fast, loses on all its nodes when the job comes. */
static double cost_of(const struct outlook *o, const struct lane_offer *f, double left, int need,
	bool others_wait)
{
	double lost;

	if (f->partner == LANE_NOBODY)
		return others_wait ? EMPTY_COST * smaller(f->nodes, need) : 0;
	lost = (f->now - left) / outlook_typical(o, f->partner);
	return f->partner_nodes * (lost + (f->nodes > need ? outlook_another(o) : 0));
}

static double speed_of(const struct outlook *o, int mine, const struct lane_offer *f)
{
	double speed = f->partner == LANE_NOBODY ? outlook_alone(o, mine)
						 : outlook_speed(o, mine, f->partner);

	return speed / outlook_typical(o, mine);
}

static int compare(const void *a, const void *b)
{
	const struct lane_offer *x = a, *y = b;

	if (x->yield.slow != y->yield.slow)
		return x->yield.slow ? 1 : -1;
	if (x->yield.price != y->yield.price)
		return x->yield.price < y->yield.price ? -1 : 1;
	if (x->yield.misfit != y->yield.misfit)
		return x->yield.misfit < y->yield.misfit ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Whether the job and the partner there make as much together as one after the other, where the job
 * goes at this pace. */
static bool is_even(const struct lane_offer *f, int pace, double typical)
{
	return f->partner == LANE_NOBODY ||
	       (PACE_STEP * pace * typical + f->yield.left) / 2 >= EVEN;
}

/* The job itself: how many nodes it needs, and how fast it usually is. */
struct wish {
	int need;
	double typical, another;
};

/* What the job brings at this pace or a faster one; -INFINITY where the offers beside which it goes
 * so fast are too few. The offers are in order. */
static double brings_at(const struct lane_offer *offer, int count, const struct wish *w, int pace)
{
	const int need = w->need;
	int left = need, slowest = INT_MAX;
	double cost = 0;

	for (int i = 0; i < count && left > 0; i++) {
		if (offer[i].yield.pace < pace || !is_even(&offer[i], pace, w->typical))
			continue;
		cost += offer[i].yield.cost + (left < need ? w->another * need : 0);
		left -= offer[i].nodes;
		slowest = smaller(slowest, offer[i].yield.pace);
	}
	return left > 0 ? -INFINITY : PACE_STEP * need * slowest - cost;
}

bool lane_yield_order(const struct outlook *o, int mine, struct lane_offer *offer, int count,
	int need, bool others_wait)
{
	const struct wish w = {need, outlook_typical(o, mine), outlook_another(o)};
	bool possible[PACES] = {false};
	double best = -INFINITY;
	int pace = 0;

	for (int i = 0; i < count; i++) {
		struct lane_offer *f = &offer[i];
		double speed = speed_of(o, mine, f), left = left_of(o, mine, f);
		double cost = cost_of(o, f, left, need, others_wait);

		f->yield = (struct lane_yield){
			.price = lround(100 * (cost / smaller(f->nodes, need) - speed)),
			.misfit = lane_misfit(f->nodes, need),
			.pace = pace_of(speed),
			.cost = cost,
			.left = left};
		possible[f->yield.pace] = true;
	}
	qsort(offer, (size_t)count, sizeof(*offer), compare);
	for (int p = 0; p < PACES; p++) {
		double brings = possible[p] ? brings_at(offer, count, &w, p) : -INFINITY;

		/* The fastest one at which they bring as much. */
		if (!isinf(brings) && brings >= best) {
			best = brings;
			pace = p;
		}
	}
	for (int i = 0; i < count; i++) {
		struct lane_yield *y = &offer[i].yield;

		y->slow = y->pace < pace ||
			  !is_even(&offer[i], isinf(best) ? y->pace : pace, w.typical);
	}
	qsort(offer, (size_t)count, sizeof(*offer), compare);
	return best > ENOUGH * need;
}
