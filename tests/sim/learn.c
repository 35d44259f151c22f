/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Feeds the shipped history with the records that nodes would have sent. */
#include "sim/learn.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "accounting/settle/settle.h"
#include "common/units.h"
#include "sim/pace.h"
#include "sim/policy/policy.h"
#include "striping/partners/outlook.h"

/* slurmctld forgets a job so long after its end, s (MinJobAge), and with it the job's class. */
#define FORGOTTEN_S 300
/* A class counts as known with so many partners. */
#define PARTNERS_KNOWN 5
#define BEGIN_S 1000000000

int learn_new(struct sim *s, struct errmsg *err)
{
	if (!s->policy->learns)
		return 0;
	s->pairs = pairs_new();
	s->known_partners = calloc((size_t)s->work->classes + 1, sizeof(*s->known_partners));
	return s->pairs && s->known_partners ? 0 : errmsg_set(err, "out of memory for the history");
}

void learn_free(struct sim *s)
{
	pairs_free(s->pairs);
	free(s->known_partners);
	expectation_free(s->learned.expected);
	outlook_free(s->learned.outlook);
}

/* The record of all nodes of a job, as if it had one: the nodes' records add up to it. */
static struct ledger_record record_of(const struct sim *s, int job)
{
	const struct run *r = &s->run[job];
	double co = r->beside_s, all = s->now - r->start_s;
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
		.degradation = fmin(r->pair_lost / co, 1),
		.variance = s->noise * s->noise,
		.backend = "sim",
		.partner_count = r->partners};

	/* With two or more nothing is learned, so it does not matter who they were. */
	for (int i = 0; i < r->partners; i++)
		record.partner[i] = (uint32_t)(i ? 0 : r->partner + 1);
	return record;
}

void learn_run(struct sim *s, int job)
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
	struct settle_pair pair;
	const struct work *mine = &s->work->job[job], *other;
	double known;

	if (!s->policy->learns || !(r->beside_s > 0))
		return;
	record = record_of(s, job);
	if (!settle_pair(&run, &record, 1, &pair))
		return;
	if (r->partner_left_s >= 0 && s->now - r->partner_left_s > FORGOTTEN_S)
		return;
	other = &s->work->job[pair.partner - 1];
	if (!pairs_expect(s->pairs, mine->class_name, other->class_name, &known))
		s->known_partners[mine->class_id]++;
	s->learned.runs++;
	if (pairs_learn(s->pairs, mine->class_name, other->class_name, fmax(pair.degradation, -1),
		    pair.seconds, BEGIN_S + (long long)s->now) &&
		errno == ENOMEM)
		s->out_of_memory = 1;
}

/* What the model expects; false where there is none yet, or the policy goes without. */
static bool modelled(const struct sim *s, int job, int partner, struct expected *out)
{
	const struct expectation *e = s->learned.expected;

	if (e)
		*out = expectation_of(e, expectation_class(e, s->work->job[job].class_name),
			expectation_class(e, s->work->job[partner].class_name));
	return e != NULL;
}

double learn_expect(const struct sim *s, int job, int partner, bool *known)
{
	struct expected model;
	double d = 0;

	*known = pairs_expect(
		s->pairs, s->work->job[job].class_name, s->work->job[partner].class_name, &d);
	if (modelled(s, job, partner, &model))
		return model.degradation;
	return *known ? d : pairs_mean(s->pairs);
}

static void compare_one(struct sim *s, int job, int partner)
{
	const struct work *mine = &s->work->job[job], *other = &s->work->job[partner];
	double truth = 1 - pace_plain(s, job, partner) / pace_plain(s, job, NOBODY);
	bool known, unseen;
	struct expected model;
	double expected, low, high;

	expected = learn_expect(s, job, partner, &known);
	unseen = !known && s->known_partners[mine->class_id] >= PARTNERS_KNOWN &&
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
	if (!s->policy->learns)
		return;
	compare_one(s, job, partner);
	compare_one(s, partner, job);
}
