/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the nodes that can take a co-located job come first. Knows no Slurm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/settings.h"
#include "striping/partners/outlook.h"

#define NODE_NO_PARTNER (-1)

/* A node and the lane that the job would have there. */
struct candidate {
	int node;
	int lane;
	bool shared; /* has a partner there */
	bool named;  /* all its partners are named by with:, so stripe_match does not count */
	double loss; /* partner_loss() of the job and its partners there */
	/* The caller's number for its partner there; NODE_NO_PARTNER: there is none or several. */
	int partner;
	/* partner_certain() of the job and its partners there; own is 0 without partners */
	double own, rest;
	uint64_t group; /* the same for nodes with the same partners, and so the same loss */
	time_t when;    /* from when on the lane is free; 0 = now */
};

/*
 * Whether jobs of so many nodes may be partners under the setting stripe_match: any; of equal
 * size; or the smaller one at most the fraction `within` smaller than the bigger one.
 */
bool node_choice_matches(const struct poppa_settings *s, int nodes, int partner_nodes);

/*
 * Whether a job that needs `need` nodes, and would like `want`, can take `group` nodes with the
 * same partners and add at most `empty` nodes without partners. named: as in struct candidate.
 * Where stripe_match counts, a job has the same partners on all its nodes; with `within` it may
 * also have nodes without partners.
 */
bool node_choice_serves(
	const struct poppa_settings *s, int group, bool named, int empty, int need, int want);

/*
 * Orders candidates that have partners, for a job that wants `wanted` nodes. The expected loss
 * comes first, in steps of one percent: smaller differences between pairs are noise. Nodes of equal
 * loss stay together by group: first groups of exactly `wanted` nodes; then bigger ones, the
 * smallest of them first, so that big groups stay whole for big jobs; then smaller ones, the
 * biggest of them first. Returns 0, or -1 with ENOMEM and the order untouched.
 */
int node_choice_order(struct candidate *c, int count, int wanted);

/* What is to be known of a partner to weigh the lanes beside it: as in struct lane_offer. */
struct node_partner {
	int class_number; /* in the outlook */
	int nodes;
	double now;
};

/* How a job looks at lanes by what they bring: lane_yield.h. */
struct node_yield {
	const struct poppa_settings *settings;
	const struct outlook *outlook;
	int mine;         /* its class there */
	bool others_wait; /* so an empty node costs something */
	/* Tells of the partner of a candidate that has one; called once for each group. */
	struct node_partner (*partner)(const struct candidate *c, const void *arg);
	const void *arg;
};

/* What node_choice_by_yield() has found. */
struct node_choice {
	int good; /* so many come first: they bring the job more than an empty node does */
	/* All together bring so little that the job had better wait for others, if it may. */
	bool poor;
};

/*
 * Orders candidates by what their lanes bring, less what that costs partners. First in `c` are the
 * `count` candidates with partners; behind them are the `empty` ones without. Afterwards the good
 * ones with partners come first, then the empty ones, then the rest. Where with: names a partner,
 * or a candidate has several partners, node_choice_order() decides: all are good then, and nothing
 * is poor. Takes time count * (log(count) + 256). Returns 0, or -1 with ENOMEM and the order
 * untouched.
 */
int node_choice_by_yield(struct candidate *c, int count, int empty, int wanted,
	const struct node_yield *y, struct node_choice *out);

/*
 * Whether the job and its partners there certainly make less progress side by side than one of them
 * alone, so that they had better run one after the other: by evidence of past runs, never without.
 */
bool node_choice_loses(const struct candidate *c);

/* How long a job runs, seconds; 0 = that is not known. */
struct node_stay {
	int64_t limit_s; /* its time limit */
	double usual_s;  /* what jobs of its name usually take: job_names_usual_s() */
};

/*
 * The time from which on a job is placed where sharing loses, if no other node is free: stripe_wait
 * after it became eligible (0: it has not been yet, so that counts from now), or a quarter of its
 * time limit, or three times as long as such jobs usually run, whichever is shortest: a short job
 * gains little by a better partner. 0 = at once.
 */
time_t node_choice_patience(
	const struct poppa_settings *s, time_t eligible, time_t now, const struct node_stay *stay);

/*
 * A job runs at the pace of its worst node, so on a node where it loses little it can lose as much
 * as on its worst one, and so may be worth less to its partners there than they lose by it. Moves
 * to the end those candidates that the job had better not have together with the others, and
 * returns how many are left in front, in their order: any of these may go together, and they are as
 * many as may be; none of them is one for which node_choice_loses(). -1 with ENOMEM and c
 * untouched.
 */
int node_choice_together(struct candidate *c, int count);

/* How many candidates in a row, from the i-th on, are of the i-th one's group. */
int node_choice_group(const struct candidate *c, int count, int i);

/* For qsort(): candidates by the time from which they are free; at the same time those with
 * partners first, then by loss, group and node. */
int node_choice_by_time(const void *a, const void *b);
