/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The suite's own decisions: src/striping/partners with the history that it has learned. What
 * Slurm's side does with them is in plugins/select_stripe: candidates.c asks about each node, and
 * place.c offers Slurm the nodes in that order. Without a plan it goes by the sum of what is
 * expected to be lost.
 */
#include "sim/policy/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/learn.h"
#include "striping/partners/node_choice.h"
#include "striping/partners/partner.h"

/* slurmctld does it once a minute; in half an hour a trace changes little, and so does what is
 * expected by 1 % more evidence. It is most of the simulator's time. */
#define RENEW_EVERY_S 1800
#define RENEW_SHARE 0.01

static struct partner as_partner(const struct sim *s, int job)
{
	const struct work *w = &s->work->job[job];

	return (struct partner){.id = (uint32_t)job + 1,
		.name = w->class_name,
		.class_name = w->class_name,
		.request = &s->request[w->capped]};
}

bool policy_ours_accepts(const struct sim *s, int job, int partner)
{
	struct partner me = as_partner(s, job), other = as_partner(s, partner);
	const struct partner *others[] = {&other};

	return partner_compatible(&me, others, 1, s->pairs);
}

struct candidate policy_ours_candidate(const struct sim *s, int job, const struct offer *o)
{
	struct partner me = as_partner(s, job), other;
	const struct partner *others[] = {&other};
	struct candidate c = {.node = o->node, .lanes = LANES};

	if (o->partner == NOBODY)
		return c;
	other = as_partner(s, o->partner);
	c.shared = true;
	c.group = partner_group(other.id);
	c.loss = partner_loss(&me, others, 1, s->pairs);
	c.partners = (uint64_t)o->partner + 1;
	if (s->settings->stripe_wait_ns)
		partner_certain(&me, others, 1, s->pairs, &c.own, &c.rest);
	return c;
}

/* Moves the candidates without partners behind the others; returns how many have one. */
static int shared_first(struct candidate *c, int count, struct candidate *scratch)
{
	int shared = 0, rest = 0;

	for (int i = 0; i < count; i++)
		if (c[i].shared)
			c[shared++] = c[i];
		else
			scratch[rest++] = c[i];
	memcpy(c + shared, scratch, (size_t)rest * sizeof(*c));
	return shared;
}

/* Moves to the end those where sharing certainly loses; returns how many are left. */
static int leave_out_losing(struct candidate *c, int count, int need)
{
	int kept = 0;

	for (int i = 0; i < count; i++)
		if (!node_choice_loses(&c[i])) {
			struct candidate good = c[i];

			c[i] = c[kept];
			c[kept++] = good;
		}
	if (need > 1) {
		int together = node_choice_together(c, kept);

		kept = together < 0 ? kept : together;
	}
	return kept;
}

static void give_back(struct offer *o, const struct candidate *c, int count)
{
	for (int i = 0; i < count; i++)
		o[i] = (struct offer){c[i].node, c[i].shared ? (int)c[i].partners - 1 : NOBODY};
}

static int class_of(const struct sim *s, int job)
{
	return s->learned.in_outlook[s->work->job[job].variant];
}

/* How fast a running job is, as expected, as a share of its usual speed. */
static double pace_now(const struct sim *s, int job, int class_number)
{
	const struct outlook *o = s->learned.outlook;
	const struct run *r = &s->run[job];
	double pace = outlook_alone(o, class_number);
	int last = NOBODY;

	for (int i = 0; i < r->nodes; i++) {
		int partner = sim_partner(s, r->node[i], job);

		if (partner != NOBODY && partner != last)
			pace = fmin(pace, outlook_speed(o, class_number, class_of(s, partner)));
		last = partner;
	}
	return pace / outlook_typical(o, class_number);
}

static int partners_of(
	const struct candidate *c, void *arg, struct lane_partner partner[LANE_PARTNERS_MAX])
{
	const struct sim *s = arg;
	int job = (int)c->partners - 1, number = class_of(s, job);

	partner[0] = (struct lane_partner){number, s->run[job].nodes, pace_now(s, job, number)};
	return 1;
}

static double planned_s(const struct sim *s, int job)
{
	const struct work *w = &s->work->job[job];

	return w->limit_s > 0 ? w->limit_s : w->run_s;
}

/* A job with max-degradation is tried with nobody, and tries nobody. */
static double overlap_s(const struct candidate *c, void *arg)
{
	const struct sim *s = arg;
	int partner = (int)c->partners - 1;

	if (s->work->job[partner].capped)
		return 0;
	return fmin(s->run[partner].end_s - s->now, planned_s(s, s->asked));
}

/* The job gets the first nodes if it starts. */
static void note_exploratory(struct sim *s, int job, const struct candidate *c, int need,
	const struct exploratory_start *start)
{
	struct learned *l = &s->learned;
	bool tries = false;

	for (int i = 0; i < need; i++)
		tries |= c[i].explores;
	l->tried = tries ? job : NOBODY;
	l->exploratory = *start;
}

/* Lanes that have jobs earn, up to now. */
static void earn(struct sim *s)
{
	struct learned *l = &s->learned;

	exploration_earn(
		&l->account, s->settings->stripe_explore, (double)l->lanes, s->now - l->earned_s);
	l->earned_s = s->now;
}

void policy_ours_started(struct sim *s, int job)
{
	struct learned *l = &s->learned;
	const struct run *r = &s->run[job];

	earn(s);
	l->lanes += r->lanes == 1 ? r->nodes : 0;
	if (l->tried == job && r->lanes == 1) {
		exploration_spend(&l->account, (uint32_t)job + 1, l->exploratory.lanes,
			l->exploratory.seconds, (int64_t)s->now);
		s->measures.explored++;
	}
	l->tried = NOBODY;
}

void policy_ours_leaves(struct sim *s, int job)
{
	const struct run *r = &s->run[job];

	earn(s);
	s->learned.lanes -= r->lanes == 1 ? r->nodes : 0;
	exploration_end(&s->learned.account, (uint32_t)job + 1, (int64_t)s->now);
}

/* Puts the best of `count` candidates in front, of which the first `shared` have partners. *lack:
 * out, how much they lack; above 0 the job had better wait. */
static int order(struct sim *s, int job, const struct node_stay *stay, struct candidate *c,
	int shared, int count, int need, double *lack)
{
	const struct outlook *o = s->learned.outlook;
	const struct node_exploration exploration = {.drawn = s->learned.drawn,
		.account = &s->learned.account,
		.stay = stay,
		.now = (time_t)s->now,
		.overlap_s = overlap_s};
	struct node_yield y = {.settings = s->settings,
		.outlook = o,
		.others_wait = s->waiting > 1,
		.partners = partners_of,
		.arg = s};
	struct node_choice choice;
	int rc;

	*lack = 0;
	if (!o || outlook_empty(o))
		return node_choice_order(c, shared, need);
	for (int i = 0; i < count; i++)
		c[i].mine = class_of(s, job);
	s->asked = job;
	if (s->settings->stripe_explore > 0 && !s->work->job[job].capped)
		y.exploration = &exploration;
	rc = node_choice_by_yield(c, shared, count - shared, need, &y, &choice);
	*lack = rc ? 0 : choice.lack;
	note_exploratory(s, job, c, need, &choice.exploratory);
	return rc;
}

/* As history.c does when slurmctld has saved what it has learned. */
void policy_ours_plan(struct sim *s, const int *job, int count)
{
	struct learned *l = &s->learned;
	struct outlook *next, *drawn = NULL;

	(void)job;
	(void)count;
	if (l->outlook && (s->now - l->outlook_s < RENEW_EVERY_S || l->runs == l->fitted ||
				  (double)(l->runs - l->fitted) < RENEW_SHARE * (double)l->fitted))
		return;
	expectation_free(l->expected);
	l->expected = expectation_fit(s->pairs, NULL);
	next = l->expected ? outlook_of_history(s->pairs, l->expected, NULL) : NULL;
	if (next)
		drawn = outlook_drawn(next, s->seed + (uint64_t)s->now);
	s->out_of_memory |= !drawn;
	for (int v = 0; drawn && v < s->work->variants; v++) {
		l->in_expected[v] = expectation_class(l->expected, s->work->variant_name[v]);
		l->in_outlook[v] = outlook_class(next, s->work->variant_name[v]);
	}
	outlook_free(l->outlook);
	outlook_free(l->drawn);
	l->outlook = next;
	l->drawn = drawn;
	l->outlook_s = s->now;
	l->fitted = l->runs;
}

struct choice policy_ours(struct sim *s, int job, struct offer *o, int count, int need)
{
	struct candidate *c = malloc((size_t)count * sizeof(*c));
	struct candidate *scratch = malloc((size_t)count * sizeof(*scratch));
	const struct work *w = &s->work->job[job];
	const struct node_stay stay = {
		(time_t)w->submit_s + 1, (int64_t)w->limit_s, learn_usual_s(s, job)};
	double patient =
		(double)node_choice_patience(s->settings, &stay, (time_t)s->now, NODE_LOSES);
	struct choice choice = {.count = count};

	if (!c || !scratch) {
		free(c);
		free(scratch);
		s->out_of_memory = 1;
		return choice;
	}
	for (int i = 0; i < count; i++)
		if (i && o[i].partner == o[i - 1].partner) {
			c[i] = c[i - 1];
			c[i].node = o[i].node;
		} else {
			c[i] = policy_ours_candidate(s, job, &o[i]);
		}
	if (patient > 0)
		choice.count = leave_out_losing(c, count, need);
	if (choice.count < need && s->now >= patient)
		choice.count = count;
	else if (choice.count < need)
		choice.wait_s = patient;
	if (choice.count >= need) {
		int shared = shared_first(c, choice.count, scratch);
		double lack, until = 0;

		if (order(s, job, s->now < patient ? &stay : NULL, c, shared, choice.count, need,
			    &lack))
			s->out_of_memory = 1;
		if (lack > 0)
			until = (double)node_choice_patience(
				s->settings, &stay, (time_t)s->now, lack);
		if (s->now < until)
			choice = (struct choice){.wait_s = until};
	}
	give_back(o, c, count);
	free(c);
	free(scratch);
	return choice;
}
