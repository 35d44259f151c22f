/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares what a job would take by draws with what it takes by means. */
#include "striping/partners/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What all offers are looked at with. */
struct look {
	const struct outlook *outlook;
	const struct lane_wish *wish;
	const struct exploration *budget;
	struct lane_offer *drawn; /* the offers in the order of the draws */
	int count;
};

/* Whether a draw says something else of the job and a partner there than the mean. */
static bool uncertain(const struct look *l, const struct lane_offer *f)
{
	const int mine = l->wish->mine;

	for (int i = 0; i < f->partners; i++) {
		int other = f->partner[i].class_number;

		if (outlook_speed(l->outlook, mine, other) !=
				outlook_speed(l->wish->drawn, mine, other) ||
			outlook_speed(l->outlook, other, mine) !=
				outlook_speed(l->wish->drawn, other, mine))
			return true;
	}
	return false;
}

static double lanes_of_partners(const struct lane_offer *f)
{
	double lanes = 0;

	for (int i = 0; i < f->partners; i++)
		lanes += f->partner[i].nodes;
	return lanes;
}

static bool may_try(const struct look *l, const struct lane_offer *f)
{
	const double least = 1 - 2 * (1 - l->wish->each);

	return f->partners && f->overlap_s > 0 && isfinite(f->overlap_s) &&
	       fmin(f->yield.own, f->yield.least) >= least &&
	       exploration_may(l->budget, f->overlap_s * (l->wish->need + lanes_of_partners(f))) &&
	       uncertain(l, f);
}

/* How many of the offers in front the job takes. */
static int front(const struct lane_offer *offer, int count, int need)
{
	int n = 0;

	for (; n < count && need > 0; n++)
		need -= offer[n].nodes;
	return n;
}

static bool has(const struct lane_offer *offer, int count, int id)
{
	for (int i = 0; i < count; i++)
		if (offer[i].id == id)
			return true;
	return false;
}

/* Fills l->drawn; false where nothing may be tried. */
static bool draw(struct look *l, const struct lane_offer *offer)
{
	bool any = false;

	memcpy(l->drawn, offer, (size_t)l->count * sizeof(*offer));
	for (int i = 0; i < l->count; i++) {
		l->drawn[i].tries = may_try(l, &offer[i]);
		any |= l->drawn[i].tries;
	}
	return any;
}

/* Marks those of the first `taken` that are not among the first `known` of offer[], and adds up
 * what they cost. */
static struct trial mark(struct look *l, int taken, const struct lane_offer *offer, int known)
{
	struct trial t = {0, 0};

	for (int i = 0; i < taken; i++) {
		struct lane_offer *f = &l->drawn[i];

		f->trial = f->tries && !has(offer, known, f->id);
		if (!f->trial)
			continue;
		t.lanes += lanes_of_partners(f);
		t.seconds = fmax(t.seconds, f->overlap_s);
	}
	t.lanes += t.lanes > 0 ? l->wish->need : 0;
	return t;
}

/* Whether the job can take the first ones, by the draws. */
static bool good(const struct lane_offer *offer, int taken)
{
	for (int i = 0; i < taken; i++)
		if (offer[i].yield.slow)
			return false;
	return true;
}

/* Puts those first, and behind them the rest of offer[] in its order. */
static void put_first(struct look *l, int taken, struct lane_offer *offer)
{
	int n = taken;

	for (int i = 0; i < l->count; i++)
		if (!has(l->drawn, taken, offer[i].id))
			l->drawn[n++] = offer[i];
	memcpy(offer, l->drawn, (size_t)l->count * sizeof(*offer));
}

bool trial_order(const struct outlook *o, const struct lane_wish *wish,
	const struct exploration *budget, bool waits, bool spare, struct lane_offer *offer,
	int count, struct trial *out)
{
	struct look l = {.outlook = o, .wish = wish, .budget = budget, .count = count};
	int taken;

	*out = (struct trial){0, 0};
	l.drawn = malloc(((size_t)count + 1) * sizeof(*l.drawn));
	if (!l.drawn || !draw(&l, offer) ||
		(lane_yield_order(o, wish, l.drawn, count) > 0 && !spare)) {
		free(l.drawn);
		return false;
	}
	taken = front(l.drawn, count, wish->need);
	if (good(l.drawn, taken))
		*out = mark(&l, taken, offer, waits ? 0 : front(offer, count, wish->need));
	if (exploration_may(budget, out->lanes * out->seconds))
		put_first(&l, taken, offer);
	else
		*out = (struct trial){0, 0};
	free(l.drawn);
	return out->lanes > 0;
}
