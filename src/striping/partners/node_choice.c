/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders the nodes that could take a co-located job. */
#include "striping/partners/node_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "striping/partners/lane_yield.h"

/* A job waits at most its time limit divided by the first, and at most the second times as long as
 * such jobs usually run. With 1 in place of 3 a twentieth of the gain is lost on the development
 * data, and short jobs hardly wait less. */
#define PATIENCE_DIVISOR 4
#define PATIENCE_RUNS 3

/* A run of candidates with the same partners. */
struct run {
	int first, count;
	long loss; /* in percent */
	int misfit;
};

bool node_choice_matches(const struct poppa_settings *s, int nodes, int partner_nodes)
{
	int small = nodes < partner_nodes ? nodes : partner_nodes;
	int big = nodes < partner_nodes ? partner_nodes : nodes;

	switch (s->stripe_match) {
	case MATCH_EXACT:
		return small == big;
	case MATCH_WITHIN:
		return big - small <= s->stripe_within * big + 1e-9;
	default:
		return true;
	}
}

bool node_choice_serves(
	const struct poppa_settings *s, int group, bool named, int empty, int need, int want)
{
	if (group < 1)
		return false;
	if (group >= want)
		return true;
	return (named || s->stripe_match != MATCH_EXACT) && group + empty >= need;
}

bool node_choice_loses(const struct candidate *c)
{
	return c->rest < c->own;
}

time_t node_choice_patience(
	const struct poppa_settings *s, time_t eligible, time_t now, const struct node_stay *stay)
{
	int64_t wait = (s->stripe_wait_ns + NS_PER_S - 1) / NS_PER_S;

	if (!wait)
		return 0;
	if (stay->limit_s && wait > stay->limit_s / PATIENCE_DIVISOR)
		wait = stay->limit_s / PATIENCE_DIVISOR;
	if (stay->usual_s > 0)
		wait = (int64_t)fmin((double)wait, PATIENCE_RUNS * stay->usual_s);
	return (eligible ? eligible : now) + (time_t)wait;
}

/* A job may have a node where what it loses on its worst node is in a range: one end of that. */
struct bound {
	double loss;
	int by; /* +1: from here on, -1: up to here */
};

static int by_bound(const void *x, const void *y)
{
	const struct bound *a = x, *b = y;

	if (a->loss != b->loss)
		return a->loss < b->loss ? -1 : 1;
	return b->by - a->by;
}

/* Whether the job may have that node where it loses so much on its worst one. Nobody loses by it on
 * a node without partners. */
static bool at_pace(const struct candidate *c, double worst)
{
	return !c->shared || (c->own <= worst && worst <= c->rest);
}

/* The loss on its worst node with which the job may have the most of the nodes together. */
static double best_pace(struct bound *bound, int bounds)
{
	int here = 0, most = 0;
	double best = 0;

	qsort(bound, (size_t)bounds, sizeof(*bound), by_bound);
	for (int i = 0; i < bounds; i++) {
		here += bound[i].by;
		if (here > most) {
			most = here;
			best = bound[i].loss;
		}
	}
	return best;
}

int node_choice_together(struct candidate *c, int count)
{
	struct bound *bound = malloc(((size_t)count * 2 + 1) * sizeof(*bound));
	struct candidate *apart = malloc(((size_t)count + 1) * sizeof(*apart));
	int bounds = 0, kept = 0, rest = 0;
	double worst;

	if (!bound || !apart) {
		free(bound);
		free(apart);
		return -1;
	}
	for (int i = 0; i < count; i++) {
		if (!c[i].shared || node_choice_loses(&c[i]))
			continue;
		bound[bounds++] = (struct bound){c[i].own, 1};
		bound[bounds++] = (struct bound){c[i].rest, -1};
	}
	worst = best_pace(bound, bounds);
	for (int i = 0; i < count; i++)
		if (at_pace(&c[i], worst))
			c[kept++] = c[i];
		else
			apart[rest++] = c[i];
	memcpy(c + kept, apart, (size_t)rest * sizeof(*c));
	free(bound);
	free(apart);
	return kept;
}

static long percent(double loss)
{
	return lround(100 * loss);
}

static int by_group(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	long loss_a = percent(a->loss), loss_b = percent(b->loss);

	if (loss_a != loss_b)
		return loss_a < loss_b ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static int by_fit(const void *x, const void *y)
{
	const struct run *a = x, *b = y;

	if (a->loss != b->loss)
		return a->loss < b->loss ? -1 : 1;
	if (a->misfit != b->misfit)
		return a->misfit < b->misfit ? -1 : 1;
	return a->first < b->first ? -1 : 1;
}

int node_choice_by_time(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	if (a->shared != b->shared)
		return b->shared - a->shared;
	return by_group(x, y);
}

int node_choice_group(const struct candidate *c, int count, int i)
{
	int end = i;

	while (end < count && c[end].shared == c[i].shared && c[end].group == c[i].group)
		end++;
	return end - i;
}

/* What orders candidates: they themselves, sorted by group, and the runs of these. */
struct order {
	struct candidate *sorted;
	struct run *run;
	int runs;
};

static void free_order(struct order *o)
{
	free(o->sorted);
	free(o->run);
}

static int find_runs(const struct candidate *c, int count, int wanted, struct order *o)
{
	*o = (struct order){.sorted = malloc((size_t)count * sizeof(*o->sorted)),
		.run = malloc((size_t)count * sizeof(*o->run))};
	if (!o->sorted || !o->run) {
		free_order(o);
		return -1;
	}
	memcpy(o->sorted, c, (size_t)count * sizeof(*c));
	qsort(o->sorted, (size_t)count, sizeof(*c), by_group);
	for (int i = 0; i < count; i += o->run[o->runs++].count) {
		int size = node_choice_group(o->sorted, count, i);

		o->run[o->runs].first = i;
		o->run[o->runs].count = size;
		o->run[o->runs].loss = percent(o->sorted[i].loss);
		o->run[o->runs].misfit = lane_misfit(size, wanted);
	}
	return 0;
}

int node_choice_order(struct candidate *c, int count, int wanted)
{
	struct order o;
	int n = 0;

	if (count < 2)
		return 0;
	if (find_runs(c, count, wanted, &o))
		return -1;
	qsort(o.run, (size_t)o.runs, sizeof(*o.run), by_fit);
	for (int i = 0; i < o.runs; n += o.run[i++].count)
		memcpy(c + n, o.sorted + o.run[i].first, (size_t)o.run[i].count * sizeof(*c));
	free_order(&o);
	return 0;
}

/* Whether what they bring decides between these: each has one partner, and none is named. */
static bool all_weighed(const struct candidate *c, int count)
{
	for (int i = 0; i < count; i++)
		if (c[i].partner == NODE_NO_PARTNER || c[i].named)
			return false;
	return true;
}

static struct lane_offer offer_of(const struct node_yield *y, const struct order *o, int run)
{
	const struct run *r = &o->run[run];
	struct node_partner p = y->partner(&o->sorted[r->first], y->arg);

	return (struct lane_offer){.partner = p.class_number,
		.nodes = r->count,
		.partner_nodes = p.nodes,
		.now = p.now,
		.id = run};
}

/* Puts the candidates in the order of the offers, of which each is a run or the empty ones. */
static void put(struct candidate *c, int count, int empty, const struct order *o,
	const struct lane_offer *offer, int offers, struct node_choice *out)
{
	int n = 0;

	for (int i = 0; i < offers; i++) {
		const struct run *r = &o->run[offer[i].id];

		if (offer[i].partner == LANE_NOBODY) {
			out->good = n;
			memmove(c + n, c + count, (size_t)empty * sizeof(*c));
			n += empty;
			continue;
		}
		memcpy(c + n, o->sorted + r->first, (size_t)r->count * sizeof(*c));
		n += r->count;
	}
}

int node_choice_by_yield(struct candidate *c, int count, int empty, int wanted,
	const struct node_yield *y, struct node_choice *out)
{
	const int need = wanted < count + empty ? wanted : count + empty;
	const struct lane_wish wish = lane_wish(y->settings, y->mine, need, y->others_wait);
	struct lane_offer *offer;
	struct order o;
	int offers = 0;

	*out = (struct node_choice){.good = count};
	if (!all_weighed(c, count))
		return node_choice_order(c, count, wanted);
	if (!count)
		return 0;
	if (find_runs(c, count, wanted, &o))
		return -1;
	offer = malloc(((size_t)o.runs + 1) * sizeof(*offer));
	if (!offer) {
		free_order(&o);
		return -1;
	}
	for (; offers < o.runs; offers++)
		offer[offers] = offer_of(y, &o, offers);
	if (empty)
		offer[offers++] =
			(struct lane_offer){.partner = LANE_NOBODY, .nodes = empty, .id = o.runs};
	/* No job waits while there are empty nodes enough for it. */
	out->poor = !lane_yield_order(y->outlook, &wish, offer, offers) && empty < need;
	put(c, count, empty, &o, offer, offers, out);
	free(offer);
	free_order(&o);
	return 0;
}
