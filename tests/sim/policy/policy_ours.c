/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Partners by what the library expects of classes, what lanes bring and what that costs their
 * partners (lane_yield.h). It decides by classes only: who may share at all is
 * policy_shipped_accepts().
 */
#include "sim/policy/policy.h"

#include <math.h>
#include <stdlib.h>

#include "sim/learn.h"
#include "striping/partners/node_choice.h"
#include "striping/partners/lane_yield.h"

/* The outlook is made anew so often, and what is expected after so many runs more. */
#define PRICES_EVERY_S 10
#define FIT_EVERY_RUNS 20

static double planned_s(const struct work *w)
{
	return w->limit_s > 0 ? w->limit_s : w->run_s;
}

static struct outlook_demand demand_of(const struct sim *s, int job)
{
	const struct work *w = &s->work->job[job];

	return (struct outlook_demand){w->class_name, LANES * w->nodes * planned_s(w)};
}

static int renew(struct sim *s, const int *job, int count)
{
	struct learned *l = &s->learned;
	struct outlook_demand *d = malloc(((size_t)(count + s->running_count) + 1) * sizeof(*d));
	struct outlook *next = NULL;
	int n = 0;

	if (!l->expected || l->runs >= l->fitted + FIT_EVERY_RUNS) {
		expectation_free(l->expected);
		l->expected = expectation_fit(s->pairs);
		l->fitted = l->runs;
	}
	for (int i = 0; d && i < count; i++)
		d[n++] = demand_of(s, job[i]);
	for (int i = 0; d && i < s->running_count; i++)
		d[n++] = demand_of(s, s->running[i]);
	if (d && l->expected)
		next = outlook_solve(l->expected, d, n, l->outlook);
	free(d);
	if (!next)
		return -1;
	outlook_free(l->outlook);
	l->outlook = next;
	l->outlook_s = s->now;
	return 0;
}

void policy_ours_plan(struct sim *s, const int *job, int count)
{
	if ((!s->learned.outlook || s->now - s->learned.outlook_s >= PRICES_EVERY_S) &&
		renew(s, job, count))
		s->out_of_memory = 1;
}

static int class_of(const struct sim *s, int job)
{
	return outlook_class(s->learned.outlook, s->work->job[job].class_name);
}

/* How fast a running job is, as expected. */
static double pace_now(const struct sim *s, int job)
{
	const struct outlook *o = s->learned.outlook;
	const struct run *r = &s->run[job];
	int mine = class_of(s, job), last = NOBODY;
	double pace = outlook_alone(o, mine);

	for (int i = 0; i < r->nodes; i++) {
		int partner = sim_partner(s, r->node[i], job);

		if (partner != NOBODY && partner != last)
			pace = fmin(pace, outlook_speed(o, mine, class_of(s, partner)));
		last = partner;
	}
	return pace;
}

static struct lane_offer offer_of(const struct sim *s, const struct group *g, int id)
{
	struct lane_offer f = {.partner = LANE_NOBODY, .nodes = g->count, .id = id};

	if (g->partner != NOBODY) {
		f.partner = class_of(s, g->partner);
		f.partner_nodes = s->run[g->partner].nodes;
		f.now = pace_now(s, g->partner);
	}
	return f;
}

struct choice policy_ours(struct sim *s, int job, struct offer *o, int count, int need)
{
	struct group *group = malloc((size_t)count * sizeof(*group));
	struct lane_offer *lane = malloc((size_t)count * sizeof(*lane));
	struct offer *scratch = malloc((size_t)count * sizeof(*scratch));
	double patient =
		(double)node_choice_patience(s->settings, (time_t)s->work->job[job].submit_s + 1,
			(time_t)s->now, (int64_t)s->work->job[job].limit_s);
	struct choice choice = {.count = count};

	/* The first job of all comes before any plan. */
	if (!group || !lane || !scratch || (!s->learned.outlook && renew(s, &job, 1))) {
		s->out_of_memory = 1;
	} else {
		int groups = policy_group(o, count, group);

		for (int g = 0; g < groups; g++)
			lane[g] = offer_of(s, &group[g], g);
		if (!lane_yield_order(s->learned.outlook, class_of(s, job), lane, groups, need) &&
			s->now < patient)
			choice = (struct choice){.wait_s = patient};
		for (int g = 0; g < groups; g++)
			group[lane[g].id].rank = g;
		policy_order(o, count, group, groups, scratch);
	}
	free(group);
	free(lane);
	free(scratch);
	return choice;
}
