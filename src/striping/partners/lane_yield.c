/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs what lanes bring and cost. */
#include "striping/partners/lane_yield.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* What an empty node costs while others wait, as a share of a lane at its usual speed. This and
 * LANE_ENOUGH were chosen by trying a few values on the development data (docs/partners.md). */
#define EMPTY_COST 0.13

/* How many paces there are, and their step, which is bigger where a job would be very fast
 * somewhere: with many lanes, alone on a node. */
#define PACES 256
#define PACE_STEP 0.01

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* What all offers are looked at with. */
struct look {
	const struct outlook *outlook;
	const struct lane_wish *wish;
	double step;   /* of a pace */
	double weight; /* of what the job itself loses */
};

static int pace_of(double speed, double step)
{
	long pace = lround(speed / step);

	return pace < 0 ? 0 : pace < PACES ? (int)pace : PACES - 1;
}

int lane_misfit(int nodes, int need)
{
	return nodes >= need ? nodes - need : INT_MAX - nodes;
}

/* All jobs of a node: the partners, and the job that comes as the last one. */
struct together {
	int count;
	int class[LANE_PARTNERS_MAX + 1];
};

/* How fast the i-th of them is on nodes of so many lanes, as outlook_among(). */
static double speed_among(const struct outlook *o, int lanes, const struct together *all, int i)
{
	int others[LANE_PARTNERS_MAX], count = 0;

	for (int k = 0; k < all->count; k++)
		if (k != i)
			others[count++] = all->class[k];
	return outlook_among(o, lanes, all->class[i], others, count);
}

/* How much it counts what jobs of the class lose. */
static double weight_of(const struct look *l, int class_number)
{
	return l->wish->fair ? outlook_weight(l->outlook, class_number) : 1;
}

/* What a speed brings the job beyond itself, as what it then loses of its usual speed, or has above
 * it, counts by the weight: exactly 0 where that is 1. */
static double weighed(const struct look *l, double speed)
{
	return (l->weight - 1) * (speed - 1);
}

/*
 * Adds what a partner loses on all its nodes when the job comes; it then is at `left` of its usual
 * speed. A part of that it would lose anyway: it is faster than usual while nobody, or somebody
 * harmless, is beside it, and that will not last. For whoever chooses between partners it counts,
 * as one of them keeps it; for whoever chooses between these lanes and waiting it does not.
 */
static void add_cost(struct lane_yield *y, const struct lane_partner *p, double left, double weight)
{
	y->cost += weight * p->nodes * (p->now - left);
	y->passing += weight * p->nodes * (p->now - fmax(fmin(p->now, 1), left));
}

/* Fills in the offer's yield but for `slow` and `pace`. */
static void weigh(const struct look *l, const struct outlook *o, struct lane_offer *f)
{
	const struct lane_wish *wish = l->wish;
	const int nodes = smaller(f->nodes, wish->need), jobs = f->partners + 1;
	struct together all = {.count = jobs};
	struct lane_yield y = {.misfit = lane_misfit(f->nodes, wish->need), .least = INFINITY};

	for (int i = 0; i < f->partners; i++)
		all.class[i] = f->partner[i].class_number;
	all.class[f->partners] = f->mine;
	for (int i = 0; i < f->partners; i++) {
		const struct lane_partner *p = &f->partner[i];
		double here = speed_among(o, f->lanes, &all, i) /
			      outlook_usual(o, f->lanes, p->class_number);
		double full = speed_among(o, jobs, &all, i), weight = weight_of(l, p->class_number);

		add_cost(&y, p, fmin(p->now, here), weight);
		y.left += full * fmin(1, p->now / here);
		y.least = fmin(y.least, full);
		if (f->nodes > wish->need)
			y.cost += weight * p->nodes * outlook_another(o);
	}
	if (!f->partners && wish->others_wait)
		y.cost = EMPTY_COST * nodes;
	y.own = speed_among(o, jobs, &all, f->partners);
	y.speed = speed_among(o, f->lanes, &all, f->partners) / outlook_usual(o, f->lanes, f->mine);
	y.price = lround(100 * (y.cost / nodes - y.speed - weighed(l, y.speed)));
	f->yield = y;
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

/* How much the job makes there at this pace, as `own`. */
static double own_at(const struct look *l, const struct lane_yield *y, int pace)
{
	return pace < y->pace ? y->own * fmin(l->step * pace / y->speed, 1) : y->own;
}

/* What is wrong with being there at this pace. What all make counts as it is where others have
 * slowed a partner down already; that the partner is so slow then is not this job's doing. */
static enum lane_fault fault_at(const struct look *l, const struct lane_offer *f, int pace)
{
	const struct lane_yield *y = &f->yield;
	double mine;

	if (!f->partners)
		return LANE_FITS;
	mine = own_at(l, y, pace);
	if ((mine + y->left) / (f->partners + 1) < l->wish->together)
		return LANE_GAINS_LITTLE;
	return fmin(mine, y->least) < l->wish->each ? LANE_HURTS : LANE_FITS;
}

/* Says of an offer whether it comes last, and why, where the job goes at this pace; below 0: it
 * goes as fast as it can there. */
static void judge(const struct look *l, struct lane_offer *f, int pace)
{
	struct lane_yield *y = &f->yield;
	const int at = pace < 0 ? y->pace : pace;
	const double mine = own_at(l, y, at);

	y->fault = fault_at(l, f, at);
	if (y->fault == LANE_FITS && y->pace < pace)
		y->fault = LANE_SLOWS;
	y->slow = y->fault != LANE_FITS;
	y->together = (mine + y->left) / (f->partners + 1);
	y->each = fmin(mine, y->least);
	y->hurts_itself = mine < y->least;
}

/* What the job brings at this pace or a faster one; -INFINITY where the offers beside which it goes
 * so fast are too few. The offers are in order. *passing: out, the sum of their `passing`. */
static double brings_at(
	const struct look *l, const struct lane_offer *offer, int count, int pace, double *passing)
{
	const int need = l->wish->need;
	int left = need, slowest = INT_MAX;
	double cost = 0;

	*passing = 0;
	for (int i = 0; i < count && left > 0; i++) {
		if (offer[i].yield.pace < pace || fault_at(l, &offer[i], pace) != LANE_FITS)
			continue;
		cost += offer[i].yield.cost +
			(left < need ? l->weight * outlook_another(l->outlook) * need : 0);
		*passing += offer[i].yield.passing;
		left -= offer[i].nodes;
		slowest = smaller(slowest, offer[i].yield.pace);
	}
	if (left > 0)
		return -INFINITY;
	return l->step * need * slowest + need * weighed(l, l->step * slowest) - cost;
}

struct lane_wish lane_wish(const struct poppa_settings *s, int need, bool others_wait)
{
	return (struct lane_wish){.need = need,
		.others_wait = others_wait,
		.fair = s->stripe_policy == POLICY_FAIR,
		.together = 1 + s->stripe_gain_min,
		.each = 1 - s->stripe_victim_max};
}

/* Weighs the offers, and sets the step that fits the fastest of them. */
static void weigh_all(struct look *l, struct lane_offer *offer, int count)
{
	double fastest = 0;

	for (int i = 0; i < count; i++) {
		weigh(l, offer[i].tries ? l->wish->drawn : l->outlook, &offer[i]);
		fastest = fmax(fastest, offer[i].yield.speed);
	}
	l->step = fmax(PACE_STEP, fastest / (PACES - 1));
	for (int i = 0; i < count; i++)
		offer[i].yield.pace = pace_of(offer[i].yield.speed, l->step);
}

/* The pace at which the offers bring most. *most: out, the most that they bring where what is
 * passing does not count as lost; -INFINITY where they are too few. */
static int best_pace(const struct look *l, const struct lane_offer *offer, int count, double *most)
{
	bool possible[PACES] = {false};
	double best = -INFINITY;
	int pace = -1;

	*most = -INFINITY;
	for (int i = 0; i < count; i++)
		possible[offer[i].yield.pace] = true;
	for (int p = 0; p < PACES; p++) {
		double passing, brings;

		if (!possible[p])
			continue;
		brings = brings_at(l, offer, count, p, &passing);
		*most = fmax(*most, brings + passing);
		/* The fastest one at which they bring as much. */
		if (!isinf(brings) && brings >= best) {
			best = brings;
			pace = p;
		}
	}
	return pace;
}

double lane_yield_order(
	const struct outlook *o, const struct lane_wish *wish, struct lane_offer *offer, int count)
{
	struct look l = {.outlook = o, .wish = wish};
	double most;
	int pace;

	/* On all nodes the job is of one user's classes. */
	l.weight = count ? weight_of(&l, offer[0].mine) : 1;
	weigh_all(&l, offer, count);
	qsort(offer, (size_t)count, sizeof(*offer), compare);
	pace = best_pace(&l, offer, count, &most);
	for (int i = 0; i < count; i++)
		judge(&l, &offer[i], pace);
	qsort(offer, (size_t)count, sizeof(*offer), compare);
	return isinf(most) ? LANE_LACK_MOST
			   : fmin(fmax(LANE_ENOUGH - most / wish->need, 0), LANE_LACK_MOST);
}
