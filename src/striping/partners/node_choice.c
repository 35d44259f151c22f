/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders the nodes that could take a co-located job. */
#include "striping/partners/node_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

/* A job waits at most its time limit divided by the first, and the second times as long as waiting
 * for better lanes would save. That is more than once, as the lanes that it leaves are taken by
 * others meanwhile; chosen by trying 5, 10, 20 and no bound on the development data: more gain for
 * longer waits. */
#define PATIENCE_DIVISOR 4
#define PATIENCE_SAVED 20

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
	const struct poppa_settings *s, const struct node_stay *stay, time_t now, double lack)
{
	const double most = (double)((s->stripe_wait_ns + NS_PER_S - 1) / NS_PER_S);
	const double share = (double)(stay->limit_s / PATIENCE_DIVISOR);
	double run = stay->usual_s, wait;

	if (!(most > 0))
		return 0;
	if (!(run > 0) && stay->limit_s)
		run = share;
	if (!(run > 0) && isinf(lack))
		run = most;
	wait = fmin(most, PATIENCE_SAVED * fmin(lack, LANE_LACK_MOST) * run);
	if (stay->limit_s)
		wait = fmin(wait, share);
	return (stay->eligible ? stay->eligible : now) + (time_t)ceil(wait);
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

/* Nodes of a kind have as many lanes, and the job is of one class there. */
static int by_kind(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->lanes != b->lanes)
		return a->lanes < b->lanes ? -1 : 1;
	if (a->mine != b->mine)
		return a->mine < b->mine ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static int by_group(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	long loss_a = percent(a->loss), loss_b = percent(b->loss);

	if (loss_a != loss_b)
		return loss_a < loss_b ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->lanes != b->lanes || a->mine != b->mine)
		return by_kind(x, y);
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

int node_choice_latest(struct candidate *c, int count)
{
	struct candidate *sorted = malloc(((size_t)count + 1) * sizeof(*sorted));
	int n = 0;

	if (!sorted)
		return -1;
	memcpy(sorted, c, (size_t)count * sizeof(*c));
	for (int end = count, i = count - 1; i >= 0; i--)
		if (!i || sorted[i - 1].when != sorted[i].when) {
			memcpy(c + n, sorted + i, (size_t)(end - i) * sizeof(*c));
			n += end - i;
			end = i;
		}
	free(sorted);
	return 0;
}

int node_choice_group(const struct candidate *c, int count, int i)
{
	int end = i;

	while (end < count && c[end].shared == c[i].shared && c[end].group == c[i].group)
		end++;
	return end - i;
}

/* What orders candidates: they themselves, sorted by group and kind of node, and the runs of these.
 */
struct order {
	struct candidate *sorted;
	struct run *run;
	int runs;
};

/* Runs with partners, and then those of empty nodes, as offers; `partner` has room for those of
 * all.
 */
struct offers {
	struct lane_offer *of;
	struct lane_partner *partner;
	int count;
};

static void free_order(struct order *o)
{
	free(o->sorted);
	free(o->run);
}

/* How many candidates in a row, from the i-th on, are of its group; empty nodes are of one kind,
 * too. A group with partners stays whole, though its nodes may be of several kinds: the partners
 * lose once by a job that has some of them. */
static int run_of(const struct candidate *c, int count, int i)
{
	int end = i;

	while (end < count && c[end].shared == c[i].shared && c[end].group == c[i].group &&
		(c[i].shared || (c[end].lanes == c[i].lanes && c[end].mine == c[i].mine)))
		end++;
	return end - i;
}

static int find_runs(const struct candidate *c, int count, int wanted, struct order *o)
{
	*o = (struct order){.sorted = malloc(((size_t)count + 1) * sizeof(*o->sorted)),
		.run = malloc(((size_t)count + 1) * sizeof(*o->run))};
	if (!o->sorted || !o->run) {
		free_order(o);
		return -1;
	}
	memcpy(o->sorted, c, (size_t)count * sizeof(*c));
	/* Most often all empty nodes are of one kind. */
	if (run_of(c, count, 0) < count)
		qsort(o->sorted, (size_t)count, sizeof(*c), by_group);
	for (int i = 0; i < count; i += o->run[o->runs++].count) {
		int size = run_of(o->sorted, count, i);

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

/* Whether what they bring decides between these: all partners are known, and none is named. */
static bool all_weighed(const struct candidate *c, int count)
{
	for (int i = 0; i < count; i++)
		if (!c[i].partners || c[i].named)
			return false;
	return true;
}

static void free_offers(struct offers *f)
{
	free(f->of);
	free(f->partner);
}

/* 0, or -1 with ENOMEM. */
static int make_offers(const struct node_yield *y, const struct order *o, const struct order *empty,
	struct offers *f)
{
	const size_t most = (size_t)(o->runs + empty->runs);

	*f = (struct offers){.of = malloc(most * sizeof(*f->of)),
		.partner = malloc(most * LANE_PARTNERS_MAX * sizeof(*f->partner))};
	if (!f->of || !f->partner) {
		free_offers(f);
		return -1;
	}
	for (; f->count < (int)most; f->count++) {
		const bool shared = f->count < o->runs;
		const struct order *from = shared ? o : empty;
		const struct run *r = &from->run[shared ? f->count : f->count - o->runs];
		const struct candidate *c = &from->sorted[r->first];
		struct lane_partner *p = &f->partner[f->count * LANE_PARTNERS_MAX];

		f->of[f->count] = (struct lane_offer){.partner = p,
			.partners = shared ? y->partners(c, y->arg, p) : 0,
			.lanes = c->lanes,
			.mine = c->mine,
			.nodes = r->count,
			.id = f->count,
			.overlap_s = shared && y->exploration ? y->exploration->overlap_s(c, y->arg)
							      : 0};
	}
	return 0;
}

/* Copies the candidates of an offer, which is a run of this order; returns how many these are. */
static int put_run(struct candidate *c, const struct order *o, int run)
{
	const struct run *r = &o->run[run];

	memcpy(c, o->sorted + r->first, (size_t)r->count * sizeof(*c));
	return r->count;
}

/* Puts the candidates in the order of the offers, but all empty ones where the first of these is.
 */
static void put(struct candidate *c, const struct order *o, const struct order *empty,
	const struct offers *f, struct node_choice *out)
{
	int n = 0, i = 0;

	for (; i < f->count && f->of[i].id < o->runs; i++)
		n += put_run(c + n, o, f->of[i].id);
	out->good = n;
	for (int k = i; k < f->count; k++)
		if (f->of[k].id >= o->runs)
			n += put_run(c + n, empty, f->of[k].id - o->runs);
	for (; i < f->count; i++)
		if (f->of[i].id < o->runs)
			n += put_run(c + n, o, f->of[i].id);
}

/* Whether the job waits for what the lanes lack. */
static bool waits(const struct node_yield *y, double lack)
{
	const struct node_exploration *x = y->exploration;

	return x->stay && lack > 0 &&
	       node_choice_patience(y->settings, x->stay, x->now, lack) > x->now;
}

/* Puts what the job tries, if it tries something, in front, and marks it. spare: there are empty
 * nodes enough for it. */
static void try_some(const struct node_yield *y, const struct lane_wish *wish, bool spare,
	struct order *o, struct offers *f, struct node_choice *out)
{
	if (!exploratory_start_order(y->outlook, wish, y->exploration->account, waits(y, out->lack),
		    spare, f->of, f->count, &out->exploratory))
		return;
	out->lack = 0;
	for (int i = 0; i < f->count; i++)
		for (int k = 0; f->of[i].explores && k < o->run[f->of[i].id].count; k++)
			o->sorted[o->run[f->of[i].id].first + k].explores = true;
}

/* node_choice_by_yield() with the runs of both kinds of candidates. spare: there are empty nodes
 * enough for the job. 0, or -1 with ENOMEM. */
static int order_by_yield(struct candidate *c, struct order *o, const struct order *empty,
	struct lane_wish *wish, bool spare, const struct node_yield *y, struct node_choice *out)
{
	struct offers f;

	if (make_offers(y, o, empty, &f))
		return -1;
	out->lack = lane_yield_order(y->outlook, wish, f.of, f.count);
	/* No job waits while there are empty nodes enough for it. */
	if (spare || !o->runs)
		out->lack = 0;
	wish->drawn = y->exploration ? y->exploration->drawn : NULL;
	if (wish->drawn)
		try_some(y, wish, spare, o, &f, out);
	put(c, o, empty, &f, out);
	free_offers(&f);
	return 0;
}

int node_choice_by_yield(struct candidate *c, int count, int empty, int wanted,
	const struct node_yield *y, struct node_choice *out)
{
	const int need = wanted < count + empty ? wanted : count + empty;
	struct lane_wish wish = lane_wish(y->settings, need, y->others_wait);
	struct order o, empties;
	int rc;

	*out = (struct node_choice){.good = count};
	if (!all_weighed(c, count))
		return node_choice_order(c, count, wanted);
	if (!count && run_of(c, empty, 0) == empty)
		return 0;
	if (find_runs(c, count, wanted, &o))
		return -1;
	if (find_runs(c + count, empty, wanted, &empties)) {
		free_order(&o);
		return -1;
	}
	rc = order_by_yield(c, &o, &empties, &wish, empty >= need, y, out);
	free_order(&o);
	free_order(&empties);
	return rc;
}
