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
#define ENOUGH 0.98

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

/*
 * How much of that the partner would lose anyway: it is faster than usual while nobody, or somebody
 * harmless, is beside it, and that will not last. For whoever chooses between partners it counts,
 * as one of them keeps it; for whoever chooses between these lanes and waiting it does not.
 */
static double passing_of(const struct outlook *o, const struct lane_offer *f, double left)
{
	double usual;

	if (f->partner == LANE_NOBODY)
		return 0;
	usual = outlook_typical(o, f->partner);
	return f->partner_nodes * (f->now - fmax(fmin(f->now, usual), left)) / usual;
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

/* The job itself, and how fast it usually is. */
struct job {
	const struct lane_wish *wish;
	double typical, another;
};

/* Whether it may be there at this pace. What both make counts as it is where others have slowed the
 * partner down already; that the partner is so slow then is not this job's doing. */
static bool may_share(const struct lane_offer *f, int pace, const struct job *j)
{
	double mine = PACE_STEP * pace * j->typical;

	if (f->partner == LANE_NOBODY)
		return true;
	return (mine + f->yield.left) / 2 >= j->wish->together &&
	       fmin(mine, f->yield.beside) >= j->wish->each;
}

/* What the job brings at this pace or a faster one; -INFINITY where the offers beside which it goes
 * so fast are too few. The offers are in order. *passing: out, the sum of passing_of(). */
static double brings_at(
	const struct lane_offer *offer, int count, const struct job *j, int pace, double *passing)
{
	const int need = j->wish->need;
	int left = need, slowest = INT_MAX;
	double cost = 0;

	*passing = 0;
	for (int i = 0; i < count && left > 0; i++) {
		if (offer[i].yield.pace < pace || !may_share(&offer[i], pace, j))
			continue;
		cost += offer[i].yield.cost + (left < need ? j->another * need : 0);
		*passing += offer[i].yield.passing;
		left -= offer[i].nodes;
		slowest = smaller(slowest, offer[i].yield.pace);
	}
	return left > 0 ? -INFINITY : PACE_STEP * need * slowest - cost;
}

struct lane_wish lane_wish(const struct poppa_settings *s, int mine, int need, bool others_wait)
{
	return (struct lane_wish){.mine = mine,
		.need = need,
		.others_wait = others_wait,
		.together = 1 + s->stripe_gain_min,
		.each = 1 - s->stripe_victim_max};
}

bool lane_yield_order(
	const struct outlook *o, const struct lane_wish *wish, struct lane_offer *offer, int count)
{
	const struct job job = {wish, outlook_typical(o, wish->mine), outlook_another(o)};
	const int mine = wish->mine, need = wish->need;
	bool possible[PACES] = {false};
	double best = -INFINITY, passing = 0;
	int pace = 0;

	for (int i = 0; i < count; i++) {
		struct lane_offer *f = &offer[i];
		double speed = speed_of(o, mine, f), left = left_of(o, mine, f);
		double cost = cost_of(o, f, left, need, wish->others_wait);

		f->yield = (struct lane_yield){
			.price = lround(100 * (cost / smaller(f->nodes, need) - speed)),
			.misfit = lane_misfit(f->nodes, need),
			.pace = pace_of(speed),
			.cost = cost,
			.passing = passing_of(o, f, left),
			.beside =
				f->partner == LANE_NOBODY ? 0 : outlook_speed(o, f->partner, mine),
			.left = left};
		possible[f->yield.pace] = true;
	}
	qsort(offer, (size_t)count, sizeof(*offer), compare);
	for (int p = 0; p < PACES; p++) {
		double lost_anyway = 0, brings = -INFINITY;

		if (possible[p])
			brings = brings_at(offer, count, &job, p, &lost_anyway);
		/* The fastest one at which they bring as much. */
		if (!isinf(brings) && brings >= best) {
			best = brings;
			passing = lost_anyway;
			pace = p;
		}
	}
	for (int i = 0; i < count; i++) {
		struct lane_yield *y = &offer[i].yield;

		y->slow =
			y->pace < pace || !may_share(&offer[i], isinf(best) ? y->pace : pace, &job);
	}
	qsort(offer, (size_t)count, sizeof(*offer), compare);
	return best + passing > ENOUGH * need;
}
