/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares what a job would take by draws with what it takes by means. */
#include "striping/partners/exploratory_start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What all offers are looked at with. */
struct look {
	const struct outlook *outlook;
	const struct lane_wish *wish;
	const struct exploration *account;
	struct lane_offer *drawn; /* the offers in the order of the draws */
	int count;
	/* Of each, by its id: whether the job takes it by the means, and by the draws. */
	bool *expected, *taken;
};

/* Whether a draw says something else of the job and a partner there than the mean. */
static bool uncertain(const struct look *l, const struct lane_offer *f)
{
	const int mine = f->mine;

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
	       exploration_may(l->account, f->overlap_s * (l->wish->need + lanes_of_partners(f))) &&
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

/* Marks those of the first n, by their ids. */
static void note(const struct lane_offer *offer, int n, bool *is)
{
	for (int i = 0; i < n; i++)
		is[offer[i].id] = true;
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

/* Marks those of the first `taken` that the job does not take by the means, and adds up what they
 * cost. */
static struct exploratory_start mark(struct look *l, int taken)
{
	struct exploratory_start start = {0, 0};

	for (int i = 0; i < taken; i++) {
		struct lane_offer *f = &l->drawn[i];

		f->explores = f->tries && !l->expected[f->id];
		if (!f->explores)
			continue;
		start.lanes += lanes_of_partners(f);
		start.seconds = fmax(start.seconds, f->overlap_s);
	}
	start.lanes += start.lanes > 0 ? l->wish->need : 0;
	return start;
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

	note(l->drawn, taken, l->taken);
	for (int i = 0; i < l->count; i++)
		if (!l->taken[offer[i].id])
			l->drawn[n++] = offer[i];
	memcpy(offer, l->drawn, (size_t)l->count * sizeof(*offer));
}

/* The exploratory start that the draws make, or none. */
static struct exploratory_start find(
	struct look *l, bool waits, bool spare, struct lane_offer *offer)
{
	const int need = l->wish->need;
	struct exploratory_start start = {0, 0};
	int taken;

	if (!draw(l, offer) ||
		(lane_yield_order(l->outlook, l->wish, l->drawn, l->count) > 0 && !spare))
		return start;
	taken = front(l->drawn, l->count, need);
	if (!good(l->drawn, taken))
		return start;
	if (!waits)
		note(offer, front(offer, l->count, need), l->expected);
	start = mark(l, taken);
	if (!exploration_may(l->account, start.lanes * start.seconds))
		return (struct exploratory_start){0, 0};
	put_first(l, taken, offer);
	return start;
}

bool exploratory_start_order(const struct outlook *o, const struct lane_wish *wish,
	const struct exploration *account, bool waits, bool spare, struct lane_offer *offer,
	int count, struct exploratory_start *out)
{
	struct look l = {.outlook = o, .wish = wish, .account = account, .count = count};

	*out = (struct exploratory_start){0, 0};
	l.drawn = malloc(((size_t)count + 1) * sizeof(*l.drawn));
	l.expected = calloc(2 * (size_t)count + 1, sizeof(*l.expected));
	l.taken = l.expected ? l.expected + count : NULL;
	if (l.drawn && l.expected)
		*out = find(&l, waits, spare, offer);
	free(l.drawn);
	free(l.expected);
	return out->lanes > 0;
}
