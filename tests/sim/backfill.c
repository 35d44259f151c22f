/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts jobs, and keeps places for those that cannot start. */
#include "sim/backfill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine.h"
#include "sim/events.h"
#include "sim/limits.h"
#include "sim/policy/policy.h"
#include "striping/partners/expected_end.h"
#include "striping/partners/partner.h"

/* Seconds that make no difference. */
#define SLACK_S 1e-6

/* A place that is kept for a waiting job. */
struct reservation {
	int job, lanes; /* lanes of each node */
	double start_s, end_s;
	unsigned char *holds; /* of each node, whether it is one of the place's */
};

struct backfill {
	struct reservation *kept;
	int count, most;
	/* Scratch, for one question at a time. */
	struct offer *offer;
	struct candidate *candidate;
	int *node;
	double *time;
	unsigned char *suits;
	int *asked;
	/* limits_expected() of jobs, as long as none starts and no time goes by: of those with the
	 * number of `looked`. */
	double *end_s;
	long *looked_at, looked;
	/* Whether the job for which a place is looked for may share with others: those with the
	 * number of `tries`. */
	bool *accepted;
	long *tried_at, tries;
};

int backfill_setup(struct sim *s, struct errmsg *err)
{
	size_t nodes = (size_t)s->nodes, jobs = (size_t)s->work->count + 1;
	struct backfill *b = calloc(1, sizeof(*b));
	bool failed = !b;

	s->backfill = b;
	if (b) {
		b->most = s->conservative ? s->depth : 1;
		b->kept = calloc((size_t)b->most, sizeof(*b->kept));
		b->offer = calloc(nodes, sizeof(*b->offer));
		b->candidate = calloc(nodes, sizeof(*b->candidate));
		b->node = calloc(nodes, sizeof(*b->node));
		b->time = calloc(nodes * LANES + (size_t)b->most + 1, sizeof(*b->time));
		b->suits = calloc(nodes, 1);
		b->asked = calloc(jobs, sizeof(*b->asked));
		b->end_s = calloc(jobs, sizeof(*b->end_s));
		b->looked_at = calloc(jobs, sizeof(*b->looked_at));
		b->accepted = calloc(jobs, sizeof(*b->accepted));
		b->tried_at = calloc(jobs, sizeof(*b->tried_at));
		failed = !b->kept || !b->offer || !b->candidate || !b->node || !b->time ||
			 !b->suits || !b->asked || !b->end_s || !b->looked_at || !b->accepted ||
			 !b->tried_at;
	}
	for (int i = 0; !failed && i < b->most; i++) {
		b->kept[i].holds = calloc(nodes, 1);
		failed = !b->kept[i].holds;
	}
	return failed ? errmsg_set(err, "out of memory for %d nodes", s->nodes) : 0;
}

void backfill_free(struct sim *s)
{
	struct backfill *b = s->backfill;

	if (!b)
		return;
	for (int i = 0; b->kept && i < b->most; i++)
		free(b->kept[i].holds);
	free(b->kept);
	free(b->offer);
	free(b->candidate);
	free(b->node);
	free(b->time);
	free(b->suits);
	free(b->asked);
	free(b->end_s);
	free(b->looked_at);
	free(b->accepted);
	free(b->tried_at);
	free(b);
	s->backfill = NULL;
}

/* When a running job is expected to end. */
static double ends(const struct sim *s, int job)
{
	struct backfill *b = s->backfill;

	if (b->looked_at[job] != b->looked) {
		b->end_s[job] = limits_expected(s, job);
		b->looked_at[job] = b->looked;
	}
	return b->end_s[job];
}

static double planned_s(const struct sim *s, int job)
{
	const struct work *w = &s->work->job[job];

	return w->limit_s > 0 ? w->limit_s : w->run_s;
}

static bool accepts(const struct sim *s, int job, int partner)
{
	struct backfill *b = s->backfill;

	if (!s->policy->accepts)
		return true;
	if (b->tried_at[partner] != b->tries) {
		b->accepted[partner] = s->policy->accepts(s, job, partner);
		b->tried_at[partner] = b->tries;
	}
	return b->accepted[partner];
}

/*
 * The lanes of a node that are taken at a time: by jobs that run by then, and by places kept. Sets
 * *beside to a job that is there, or leaves it.
 */
static int taken_at(const struct sim *s, int node, double when, int *beside)
{
	const struct backfill *b = s->backfill;
	int taken = 0;

	for (int lane = 0; lane < LANES; lane++) {
		int job = s->node[node].job[lane];

		if (job == NOBODY || ends(s, job) <= when + SLACK_S)
			continue;
		taken++;
		*beside = job;
	}
	for (int i = 0; i < b->count; i++) {
		const struct reservation *r = &b->kept[i];

		if (!r->holds[node] || r->start_s > when + SLACK_S || r->end_s <= when + SLACK_S)
			continue;
		/* As Slurm's backfill does, which keeps whole nodes free for a planned start. */
		taken += LANES;
		*beside = r->job;
	}
	return taken;
}

static bool room_at(const struct sim *s, int job, int lanes, int node, double when)
{
	int beside = NOBODY, taken = taken_at(s, node, when, &beside);

	return taken + lanes <= LANES && (!taken || accepts(s, job, beside));
}

/* Whether the job can have so many lanes of the node from a time on for as long as planned. */
static bool suits_from(const struct sim *s, int job, int lanes, int node, double when)
{
	const struct backfill *b = s->backfill;
	double until = when + planned_s(s, job);

	if (!room_at(s, job, lanes, node, when))
		return false;
	for (int i = 0; i < b->count; i++) {
		const struct reservation *r = &b->kept[i];

		if (r->holds[node] && r->start_s > when && r->start_s < until - SLACK_S &&
			!room_at(s, job, lanes, node, r->start_s))
			return false;
	}
	return true;
}

/* The first start of a place on the node that is kept for later and begins between these, or
 * `first` where that is earlier. */
static double put_off(const struct sim *s, int node, double before, double after, double first)
{
	const struct backfill *b = s->backfill;

	for (int i = 0; i < b->count; i++)
		if (b->kept[i].holds[node] && expected_puts_off((int64_t)before, (int64_t)after,
						      (int64_t)b->kept[i].start_s))
			first = fmin(first, b->kept[i].start_s);
	return first;
}

/* As ends.c of the plugin: the first of the starts that the job and its partner there, which are
 * expected to end later than their limits say, would put off; INFINITY: none. */
static double puts_off(const struct sim *s, int job, int node)
{
	int partner = sim_partner(s, node, job);
	double end = s->now + planned_s(s, job), first = INFINITY, partner_end, mine;

	if (!s->backfill->count || partner == NOBODY || s->plan_by_limits)
		return first;
	partner_end = ends(s, partner);
	mine = limits_beside(s, job, partner, end, limits_beside(s, partner, job, partner_end, 0));
	first = put_off(s, node, end, mine, first);
	return put_off(
		s, node, partner_end, limits_beside(s, partner, job, partner_end, mine), first);
}

/* The nodes that the job may have now. *behind: the first start that it would put off on others. */
static int find_offers(struct sim *s, int job, int lanes, double *behind)
{
	struct backfill *b = s->backfill;
	int count = 0;

	*behind = INFINITY;
	for (int n = 0; n < s->nodes; n++) {
		double first;

		if (sim_free(s, n) < lanes || !suits_from(s, job, lanes, n, s->now))
			continue;
		first = puts_off(s, job, n);
		*behind = fmin(*behind, first);
		if (isinf(first))
			b->offer[count++] = (struct offer){n, sim_partner(s, n, job)};
	}
	return count;
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The times at which nodes become free, from `from` on: the first is that. */
static int find_times(struct sim *s, double from)
{
	struct backfill *b = s->backfill;
	int count = 1;

	b->time[0] = from;
	for (int i = 0; i < s->running_count; i++)
		b->time[count++] = fmax(ends(s, s->running[i]), from);
	for (int i = 0; i < b->count; i++)
		b->time[count++] = fmax(b->kept[i].end_s, from);
	qsort(b->time, (size_t)count, sizeof(*b->time), by_time);
	return count;
}

/* The node suits the job at `when`: the earliest time from which it does; 0 = now. */
static double suits_since(const struct sim *s, int job, int lanes, int node, double when)
{
	double since = when;

	if (suits_from(s, job, lanes, node, s->now))
		return 0;
	for (int lane = 0; lane < LANES; lane++) {
		int other = s->node[node].job[lane];

		if (other != NOBODY && ends(s, other) < since &&
			suits_from(s, job, lanes, node, ends(s, other)))
			since = ends(s, other);
	}
	return since;
}

/* The node as the plugin sees it for a job that is planned to start at `when`. */
static struct candidate candidate_at(const struct sim *s, int job, int lanes, int node, double when)
{
	const double since = suits_since(s, job, lanes, node, when);
	struct offer o = {node, NOBODY};
	struct candidate c = {.node = node};

	taken_at(s, node, since > 0 ? since : s->now, &o.partner);
	if (o.partner != NOBODY && s->policy->candidate)
		c = s->policy->candidate(s, job, &o);
	c.group = 0;
	for (int lane = 0; lane < LANES; lane++)
		if (s->node[node].job[lane] != NOBODY)
			c.group += partner_group((uint32_t)s->node[node].job[lane] + 1);
	c.shared = o.partner != NOBODY;
	c.when = (time_t)ceil(since);
	return c;
}

/* Takes so many of the nodes that suit: those first that become free last, as place.c of the
 * plugin does. */
static void hold(struct sim *s, struct reservation *r, int need)
{
	struct candidate *c = s->backfill->candidate;
	int count = 0;

	for (int n = 0; n < s->nodes; n++)
		if (s->backfill->suits[n])
			c[count++] = candidate_at(s, r->job, r->lanes, n, r->start_s);
	qsort(c, (size_t)count, sizeof(*c), node_choice_by_time);
	s->out_of_memory |= node_choice_latest(c, count) != 0;
	memset(r->holds, 0, (size_t)s->nodes);
	for (int i = 0; i < count && need; i++, need--)
		r->holds[c[i].node] = 1;
}

/* How many nodes suit the job from a time on; b->suits says which. */
static int find_suiting(struct sim *s, int job, int lanes, double when)
{
	unsigned char *suits = s->backfill->suits;
	int found = 0;

	for (int n = 0; n < s->nodes; n++) {
		suits[n] = suits_from(s, job, lanes, n, when);
		found += suits[n];
	}
	return found;
}

/* The index of the first time at which enough nodes suit, or `times`. Without places that are kept
 * a node that suits does so ever after, so the times can be halved. */
static int first_time(struct sim *s, int job, int lanes, int need, int times)
{
	struct backfill *b = s->backfill;
	int low = 0, high = times;

	if (b->count) {
		while (low < times && find_suiting(s, job, lanes, b->time[low]) < need)
			low++;
		return low;
	}
	while (low < high) {
		int mid = (low + high) / 2;

		if (find_suiting(s, job, lanes, b->time[mid]) >= need)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Keeps the earliest place for the job that begins not before a time. */
static void keep_place(struct sim *s, int job, double from)
{
	struct backfill *b = s->backfill;
	struct reservation *r = &b->kept[b->count];
	int lanes, need = policy_needs(s, job, &lanes), times = find_times(s, from);
	int at = first_time(s, job, lanes, need, times);

	if (at == times)
		return;
	find_suiting(s, job, lanes, b->time[at]);
	r->job = job;
	r->lanes = lanes;
	r->start_s = b->time[at];
	r->end_s = r->start_s + planned_s(s, job);
	if (s->run[job].promised_s < 0)
		s->run[job].promised_s = r->start_s;
	hold(s, r, need);
	b->count++;
}

static bool has_place(const struct sim *s, int job)
{
	const struct backfill *b = s->backfill;

	for (int i = 0; i < b->count; i++)
		if (b->kept[i].job == job)
			return true;
	return false;
}

/* Starts the job, or keeps it a place; again: it has been asked before in this pass. */
static void try_job(struct sim *s, int job, bool again)
{
	struct backfill *b = s->backfill;
	int lanes, need = policy_needs(s, job, &lanes), count = 0;
	struct choice choice = {.count = 0};
	double behind = INFINITY;

	b->tries++;
	if (again && has_place(s, job))
		return;
	if ((lanes == 1 ? s->open : s->empty) >= need)
		count = find_offers(s, job, lanes, &behind);
	if (count >= need) {
		choice = s->policy->choose(s, job, b->offer, count, need);
		if (choice.later && !again)
			return;
		if (choice.later)
			choice = s->policy->choose(s, job, b->offer, count, need);
	}
	if (choice.count >= need) {
		for (int i = 0; i < need; i++)
			b->node[i] = b->offer[i].node;
		engine_start(s, job, b->node, need, lanes);
		b->looked++;
		return;
	}
	if (choice.wait_s > s->now && s->run[job].wakes_s != choice.wait_s) {
		s->run[job].wakes_s = choice.wait_s;
		events_add(s, choice.wait_s, EVENT_WAKE, job);
	}
	if (b->count < b->most)
		keep_place(s, job, fmax(choice.wait_s, isinf(behind) ? s->now : behind));
}

void backfill_pass(struct sim *s)
{
	struct backfill *b = s->backfill;
	int count = 0, job = s->first;

	b->count = 0;
	b->looked++;
	for (int i = 0; i < s->depth && job != NOBODY; i++, job = s->run[job].after)
		b->asked[count++] = job;
	if (s->policy->plan)
		s->policy->plan(s, b->asked, count);
	for (int again = 0; again <= (s->policy->plan ? 1 : 0); again++)
		for (int i = 0; i < count && !s->out_of_memory; i++)
			if (s->run[b->asked[i]].state == RUN_WAITING)
				try_job(s, b->asked[i], again);
}

void backfill_new(struct sim *s, int job)
{
	if (s->run[job].state != RUN_WAITING || s->waiting > s->depth)
		return;
	s->backfill->looked++;
	try_job(s, job, true);
}
