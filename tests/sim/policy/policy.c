/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of policies, and what they share. */
#include "sim/policy/policy.h"

#include <stdlib.h>
#include <string.h>

const struct policy policies[] = {
	{"exclusive", "each job has whole nodes, as stock Slurm gives them", SHAPE_COMPACT,
		LEARNS_NOTHING, .choose = policy_whole},
	{"spread", "each job has half of twice as many nodes, the other half stays idle",
		SHAPE_SPREAD, LEARNS_NOTHING, .choose = policy_whole},
	{"random", "partners at random", SHAPE_LANES, LEARNS_NOTHING, .accepts = policy_no_caps,
		.choose = policy_random},
	{"twins", "partners at random, but never of the same class", SHAPE_LANES, LEARNS_NOTHING,
		.accepts = policy_no_twins, .choose = policy_random},
	{"bandwidth", "partners at random whose demands sum up to 0.9 at most", SHAPE_LANES,
		LEARNS_NOTHING, .accepts = policy_in_bandwidth, .choose = policy_random},
	{"stable", "stable matching by what the history expects", SHAPE_LANES, LEARNS,
		.accepts = policy_no_caps, .choose = policy_stable, .plan = policy_stable_plan},
	{"before", "by the least expected loss, as the suite decided earlier", SHAPE_LANES,
		LEARNS_SINGLES, .accepts = policy_ours_accepts, .choose = policy_ours,
		.candidate = policy_ours_candidate},
	{"ours", "as the suite decides: by what lanes bring, less what partners lose, or waits",
		SHAPE_LANES, LEARNS, .accepts = policy_ours_accepts, .choose = policy_ours,
		.candidate = policy_ours_candidate, .plan = policy_ours_plan,
		.started = policy_ours_started, .leaves = policy_ours_leaves},
	{"oracle", "the best places for one job after the other, by the true matrix", SHAPE_LANES,
		LEARNS_NOTHING, .accepts = policy_truth_accepts, .choose = policy_oracle},
	{"optimal", "a matching of waiting jobs and open places, by the true matrix", SHAPE_LANES,
		LEARNS_NOTHING, .accepts = policy_truth_accepts, .choose = policy_optimal,
		.plan = policy_optimal_plan},
};

const int policy_count = sizeof(policies) / sizeof(policies[0]);

const struct policy *policy_find(const char *name)
{
	for (int i = 0; i < policy_count; i++)
		if (!strcmp(policies[i].name, name))
			return &policies[i];
	return NULL;
}

int policy_needs(const struct sim *s, int job, int *lanes)
{
	int nodes = s->work->job[job].nodes;
	bool compact = s->policy->shape == SHAPE_COMPACT || LANES * nodes > s->nodes;

	*lanes = s->policy->shape == SHAPE_LANES && !compact ? 1 : LANES;
	return compact ? nodes : LANES * nodes;
}

static int by_partner(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;

	if (x->partner != y->partner) {
		/* NOBODY comes last. */
		if (x->partner == NOBODY || y->partner == NOBODY)
			return x->partner == NOBODY ? 1 : -1;
		return x->partner < y->partner ? -1 : 1;
	}
	return x->node < y->node ? -1 : x->node > y->node;
}

int policy_group(struct offer *o, int count, struct group *group)
{
	int groups = 0;

	qsort(o, (size_t)count, sizeof(*o), by_partner);
	for (int i = 0; i < count; i++) {
		if (!i || o[i].partner != o[i - 1].partner)
			group[groups++] = (struct group){.partner = o[i].partner, .first = i};
		group[groups - 1].count++;
	}
	return groups;
}

static int by_rank(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

void policy_order(
	struct offer *o, int count, struct group *group, int groups, struct offer *scratch)
{
	int n = 0;

	memcpy(scratch, o, (size_t)count * sizeof(*o));
	qsort(group, (size_t)groups, sizeof(*group), by_rank);
	for (int g = 0; g < groups; g++) {
		memcpy(o + n, scratch + group[g].first, (size_t)group[g].count * sizeof(*o));
		group[g].first = n;
		n += group[g].count;
	}
}

/* Whole nodes are all alike. */
struct choice policy_whole(struct sim *s, int job, struct offer *o, int count, int need)
{
	(void)s;
	(void)job;
	(void)o;
	(void)need;
	return (struct choice){.count = count};
}
