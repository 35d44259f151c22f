/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policies: who shares with whom. Each is a row of the table in policy.c. */
#pragma once

#include "common/errmsg.h"
#include "sim/sim.h"
#include "striping/partners/node_choice.h"

/* What a job of n nodes gets. */
enum shape {
	SHAPE_COMPACT, /* n whole nodes */
	SHAPE_SPREAD,  /* one lane of 2n nodes, and the other stays free */
	SHAPE_LANES,   /* one lane of 2n nodes, which may have partners */
};

/* A node that a job may have now, and the job that it would have beside it (or NOBODY). */
struct offer {
	int node;
	int partner;
};

/* The choice of a policy for a job. */
struct choice {
	int count;     /* so many of the offers, in front, are good enough */
	double wait_s; /* > now: fewer than it needs are, and it waits for better until then */
	bool later;    /* ask again when all others of the pass have been asked */
};

/* Whether it goes by the pair history, and what enters that. */
enum learns {
	LEARNS_NOTHING,
	LEARNS_SINGLES, /* runs with one partner that slurmctld still knows, as the suite once did
			 */
	LEARNS,
};

struct policy {
	const char *name;
	const char *what; /* for --help */
	enum shape shape;
	enum learns learns;
	/* Whether the two may share a node at all; NULL = everybody may. */
	bool (*accepts)(const struct sim *s, int job, int partner);
	/* Puts the best offers in front. There are at least `need`, in the order of nodes. */
	struct choice (*choose)(struct sim *s, int job, struct offer *o, int count, int need);
	/* What is known of the job on that node, as candidates.c of the plugin finds it; NULL =
	 * nothing. */
	struct candidate (*candidate)(const struct sim *s, int job, const struct offer *o);
	/* Called before a pass with the waiting jobs, in their order; NULL = no need. */
	void (*plan)(struct sim *s, const int *job, int count);
	/* A job has got its nodes, or is about to leave them; NULL = no need. */
	void (*started)(struct sim *s, int job);
	void (*leaves)(struct sim *s, int job);
};

/* All of them, in the order in which they are shown. */
extern const struct policy policies[];
extern const int policy_count;

/* The policy of that name, or NULL. */
const struct policy *policy_find(const char *name);

/* How many nodes the job needs under the policy, and how many lanes of each it keeps. A job that
 * has not enough nodes for its lanes is compact. */
int policy_needs(const struct sim *s, int job, int *lanes);

/* Offers beside the same partner, in a row. */
struct group {
	int partner; /* NOBODY: nodes without one */
	int first, count;
	double rank; /* the least comes first */
};

/*
 * Puts offers beside the same partner together, those without a partner last, and fills group[],
 * which has room for count. Returns how many groups there are.
 */
int policy_group(struct offer *o, int count, struct group *group);

/* Orders the offers by the rank of their groups; ties keep their order. scratch has room for count.
 */
void policy_order(
	struct offer *o, int count, struct group *group, int groups, struct offer *scratch);

/* The policies, by file. */
struct choice policy_random(struct sim *s, int job, struct offer *o, int count, int need);
/* Who knows nothing of a pair lets no job share that has a limit for its degradation. */
bool policy_no_caps(const struct sim *s, int job, int partner);
bool policy_no_twins(const struct sim *s, int job, int partner);
bool policy_in_bandwidth(const struct sim *s, int job, int partner);
struct choice policy_whole(struct sim *s, int job, struct offer *o, int count, int need);
bool policy_ours_accepts(const struct sim *s, int job, int partner);
struct choice policy_ours(struct sim *s, int job, struct offer *o, int count, int need);
struct candidate policy_ours_candidate(const struct sim *s, int job, const struct offer *o);
void policy_ours_plan(struct sim *s, const int *job, int count);
void policy_ours_started(struct sim *s, int job);
void policy_ours_leaves(struct sim *s, int job);
bool policy_truth_accepts(const struct sim *s, int job, int partner);
struct choice policy_oracle(struct sim *s, int job, struct offer *o, int count, int need);
struct choice policy_optimal(struct sim *s, int job, struct offer *o, int count, int need);
void policy_optimal_plan(struct sim *s, const int *job, int count);
struct choice policy_stable(struct sim *s, int job, struct offer *o, int count, int need);
void policy_stable_plan(struct sim *s, const int *job, int count);

/* What nodes make at most where each program wants as much of them and always finds the partner of
 * the best pairing (stp), by the matrix; NAN without memory. */
double policy_best_pairing(const struct matrix *m);
