/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Feeds the shipped history with the records that nodes would have sent. */
#include "sim/learn.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounting/settle/settle.h"
#include "common/units.h"
#include "sim/pace.h"
#include "sim/policy/policy.h"
#include "sim/world/draw.h"
#include "striping/history/job_names.h"
#include "striping/partners/outlook.h"

/* slurmctld forgets a job so long after its end, s (MinJobAge), and with it the job's class. */
#define FORGOTTEN_S 300
/* A class counts as known with so many partners. */
#define PARTNERS_KNOWN 5
/* What attribution.c asks for to tell partners apart: five blocks of each, and no more of the time
 * beside others. */
#define KNOWN_S 10
#define MOST_UNTOLD 0.05
#define BEGIN_S 1000000000

/* The history that was asked for; pairs_load() takes a missing file for an empty history. */
static struct pairs *load(const char *path, struct errmsg *err)
{
	int bad = 0;
	struct pairs *p = NULL;

	if (access(path, R_OK))
		errmsg_set(err, "--history %s: %s", path, strerror(errno));
	else
		p = pairs_load(path, &bad, err);
	if (!bad)
		return p;
	pairs_free(p);
	errmsg_set(err, "--history %s: %d lines are none of a pair history", path, bad);
	return NULL;
}

int learn_new(struct sim *s, struct errmsg *err)
{
	s->learned.tried = NOBODY;
	if (s->policy->learns == LEARNS_NOTHING)
		return 0;
	s->pairs = s->history ? load(s->history, err) : pairs_new();
	if (s->history && !s->pairs)
		return -1;
	s->known_partners = calloc((size_t)s->work->classes + 1, sizeof(*s->known_partners));
	s->met = calloc((size_t)s->work->classes * (size_t)s->work->classes + 1, sizeof(*s->met));
	s->learned.in_expected =
		calloc((size_t)s->work->variants + 1, sizeof(*s->learned.in_expected));
	s->learned.in_outlook =
		calloc((size_t)s->work->variants + 1, sizeof(*s->learned.in_outlook));
	return s->pairs && s->known_partners && s->met && s->learned.in_expected &&
			       s->learned.in_outlook
		       ? 0
		       : errmsg_set(err, "out of memory for the history");
}

void learn_free(struct sim *s)
{
	pairs_free(s->pairs);
	free(s->known_partners);
	free(s->met);
	expectation_free(s->learned.expected);
	outlook_free(s->learned.outlook);
	outlook_free(s->learned.drawn);
	free(s->learned.in_expected);
	free(s->learned.in_outlook);
}

static struct met *met_of(const struct sim *s, int job, int partner)
{
	const struct run *r = &s->run[job];

	for (int i = 0; i < r->partners && i < MOST_MET; i++)
		if (r->met[i].job == partner)
			return &r->met[i];
	return NULL;
}

void learn_met(struct sim *s, int job, int partner, int node)
{
	struct node *n = &s->node[node];
	bool *before = &n->met[n->job[1] == job];
	struct run *r = &s->run[job];
	struct met *m = met_of(s, job, partner);

	r->met_s = s->now;
	r->met_nodes += !*before;
	*before = true;
	if (!m && r->partners++ < MOST_MET) {
		m = &r->met[r->partners - 1];
		m->job = partner;
	}
	if (m) {
		m->here = true;
		m->nodes++;
	}
}

void learn_left(struct sim *s, int job, int partner)
{
	struct met *m = met_of(s, job, partner);

	if (m && m->here) {
		learn_so_far(s, job);
		m->here = false;
		m->left_s = s->now;
	}
}

void learn_beside(struct sim *s, int job, double seconds, double lost_s)
{
	struct run *r = &s->run[job];
	bool told = false;

	for (int i = 0; i < r->partners && i < MOST_MET; i++)
		if (r->met[i].here) {
			told = true;
			r->met[i].seconds += seconds;
			r->met[i].lost_s += lost_s;
		}
	r->untold_s += told ? 0 : seconds;
}

/* Whether the records tell what this partner cost: it has had blocks enough, and the job did not
 * have others on its other nodes. */
static bool told(const struct run *r, const struct met *m)
{
	return m->seconds >= KNOWN_S && m->nodes >= SETTLE_PAIR_NODES * r->met_nodes;
}

/* The record of all nodes of a job, as if it had one: the nodes' records add up to it. */
static struct ledger_record record_of(const struct sim *s, int job)
{
	const struct run *r = &s->run[job];
	double co = r->beside_s, all = s->now - r->start_s, lost = 0, untold = r->untold_s;
	struct ledger_record record = {.cluster = "sim",
		.job_id = (uint32_t)job + 1,
		.node = "n",
		.uid = 1,
		.final = true,
		.cores = 1,
		.start_unix = BEGIN_S,
		.end_unix = BEGIN_S + (int64_t)all,
		.co_ns = (int64_t)(co * (double)NS_PER_S),
		.solo_ns = (int64_t)((all - co) * (double)NS_PER_S),
		.blocks = 100,
		.used = 100,
		.variance = s->noise * s->noise,
		.backend = "sim",
		.timed = true};

	for (int i = 0; i < r->partners && i < MOST_MET; i++) {
		const struct met *m = &r->met[i];
		/* The noise of the pair is in what was lost; a short time adds to it. */
		double off =
			s->noise * sqrt(fmax(60 / m->seconds - 1, 0)) *
			draw_normal(s->seed, DRAW_MEASURE, (uint64_t)job, (uint64_t)m->job + 1);
		double mine = m->lost_s + m->seconds * off;

		lost += mine;
		untold += m->seconds < KNOWN_S ? m->seconds : 0;
		record.partner[i] = (uint32_t)m->job + 1;
		record.partner_ns[i] = told(r, m) ? (int64_t)(m->seconds * (double)NS_PER_S) : 0;
		record.partner_degradation[i] = mine / co;
		record.partner_count++;
	}
	record.degradation = fmin(lost / co, 1);
	record.attributed = untold <= MOST_UNTOLD * co;
	return record;
}

/* Whether slurmctld finds the class of the partner: by its price, or as it once did, as long as it
 * knows the job. */
static bool remembered(const struct sim *s, const struct met *m)
{
	return s->policy->learns == LEARNS || m->here || s->now - m->left_s <= FORGOTTEN_S;
}

/* Whether jobs of both classes have met, of whatever sizes. */
static bool *met_classes(const struct sim *s, int job, int partner)
{
	return &s->met[(size_t)s->work->job[job].class_id * (size_t)s->work->classes +
		       (size_t)s->work->job[partner].class_id];
}

static long long start_of(const struct sim *s, int job)
{
	return BEGIN_S + (long long)s->run[job].start_s;
}

/* ended: the run has its price; else it tells what it has shown so far. */
static void learn_pair(struct sim *s, int job, const struct settle_pair *pair, bool ended)
{
	const struct work *mine = &s->work->job[job], *other = &s->work->job[pair->partner - 1];
	const struct pairs_shared with = {.job = mine->class_name,
		.partner = other->class_name,
		.degradation = pair->degradation,
		.seconds = pair->seconds,
		.uid = (unsigned int)mine->class_id + 1,
		.job_id = (unsigned int)job + 1,
		.partner_id = pair->partner,
		.start = start_of(s, job)};
	long long now = BEGIN_S + (long long)s->now;
	bool *met = met_classes(s, job, (int)pair->partner - 1);
	int rc = ended ? pairs_learn_run(s->pairs, &with, now)
		       : pairs_learn_segment(s->pairs, &with, now);

	if (rc < 0) {
		s->out_of_memory |= errno == ENOMEM;
		return;
	}
	if (!ended && !rc)
		return;
	s->learned.runs++;
	s->known_partners[mine->class_id] += !*met;
	*met = true;
}

/* What the records of the run tell until now. */
static void learn_records(struct sim *s, int job, bool ended)
{
	const struct run *r = &s->run[job];
	struct settle_node node = {.name = "n", .weight = 1};
	struct settle_job run = {.cluster = "sim",
		.job_id = (uint32_t)job + 1,
		.uid = 1,
		.start_unix = BEGIN_S,
		.end_unix = BEGIN_S + (int64_t)(s->now - r->start_s),
		.wall_ns = (int64_t)((s->now - r->start_s) * (double)NS_PER_S),
		.nodes = &node,
		.node_count = 1};
	struct ledger_record record;
	struct settle_pair pair[SETTLE_MAX_PAIRS];
	int pairs;

	if (s->history || s->policy->learns == LEARNS_NOTHING || !(r->beside_s > 0) ||
		(s->policy->learns == LEARNS_SINGLES && r->partners > 1))
		return;
	record = record_of(s, job);
	pairs = settle_pairs(&run, &record, 1, pair);
	for (int i = 0; i < pairs; i++)
		if (remembered(s, met_of(s, job, (int)pair[i].partner - 1)))
			learn_pair(s, job, &pair[i], ended);
}

void learn_run(struct sim *s, int job)
{
	learn_records(s, job, true);
	if (s->pairs)
		pairs_end_run(s->pairs, (unsigned int)job + 1, start_of(s, job));
}

void learn_so_far(struct sim *s, int job)
{
	if (s->policy->learns == LEARNS)
		learn_records(s, job, false);
}

/* All jobs of a class have one name. */
#define NAME "job"

void learn_time(struct sim *s, int job)
{
	const struct work *w = &s->work->job[job];
	const struct job_ran ran = {
		.program = w->class_name, .seconds = fmax(s->now - s->run[job].start_s, 1)};

	if (!s->history && s->policy->learns == LEARNS &&
		pairs_ran(s->pairs, (unsigned int)w->class_id + 1, NAME, &ran,
			BEGIN_S + (long long)s->now) < 0)
		s->out_of_memory = 1;
}

double learn_usual_s(const struct sim *s, int job)
{
	return job_names_usual_s(
		pairs_names(s->pairs), (unsigned int)s->work->job[job].class_id + 1, NAME);
}

/* What the model expects; false where there is none yet, or the policy goes without. */
static bool modelled(const struct sim *s, int job, int partner, struct expected *out)
{
	const struct expectation *e = s->learned.expected;

	if (e)
		*out = expectation_of(e, s->learned.in_expected[s->work->job[job].variant],
			s->learned.in_expected[s->work->job[partner].variant]);
	return e != NULL;
}

double learn_expect(const struct sim *s, int job, int partner)
{
	struct expected model;
	double d = 0;

	if (modelled(s, job, partner, &model))
		return model.degradation;
	return pairs_expect(
		       s->pairs, s->work->job[job].class_name, s->work->job[partner].class_name, &d)
		       ? d
		       : pairs_mean(s->pairs);
}

static void compare_one(struct sim *s, int job, int partner)
{
	const struct work *mine = &s->work->job[job], *other = &s->work->job[partner];
	double truth = 1 - pace_plain(s, job, partner) / pace_plain(s, job, NOBODY);
	bool unseen;
	struct expected model;
	double expected, low, high;

	expected = learn_expect(s, job, partner);
	unseen = !*met_classes(s, job, partner) &&
		 s->known_partners[mine->class_id] >= PARTNERS_KNOWN &&
		 s->known_partners[other->class_id] >= PARTNERS_KNOWN;
	if (unseen) {
		s->measures.unseen++;
		s->measures.unseen_error += fabs((1 - expected) / (1 - truth) - 1);
	}
	if (modelled(s, job, partner, &model)) {
		s->measures.intervals += unseen;
		s->measures.covered += unseen && fabs(truth - expected) <= EXPECTED_90 * model.sd;
	} else if (pairs_certain(s->pairs, mine->class_name, other->class_name, &low, &high)) {
		s->measures.intervals++;
		s->measures.covered += truth >= low && truth <= high;
	}
}

void learn_compare(struct sim *s, int job, int partner)
{
	if (s->policy->learns == LEARNS_NOTHING)
		return;
	compare_one(s, job, partner);
	compare_one(s, partner, job);
}
