/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the nodes that can take a co-located job come first. Knows no Slurm. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/settings.h"
#include "striping/partners/exploratory_start.h"
#include "striping/partners/lane_yield.h"
#include "striping/partners/outlook.h"

/* A node and the lane that the job would have there. */
struct candidate {
	int node;
	enum stripe_shape shape; /* of the lane */
	int lane;
	bool shared; /* has a partner there */
	bool named;  /* all its partners are named by with:, so stripe_match does not count */
	double loss; /* partner_loss() of the job and its partners there */
	int lanes;   /* of the node */
	/* The number of the job's class there, for struct node_yield: nodes of several types may
	 * have several. */
	int mine;
	/* The caller's note of the partners there, for struct node_yield; 0: it cannot tell them.
	 */
	uint64_t partners;
	/* partner_certain() of the job and its partners there; own is 0 without partners */
	double own, rest;
	uint64_t group; /* the same for nodes with the same partners, and so the same loss */
	time_t when;    /* from when on the lane is free; 0 = now */
	bool explores;  /* out: the job would be there to explore (node_choice.exploratory) */
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

struct node_stay;

/* What a job that may start to explore (exploratory_start.h) needs for that. */
struct node_exploration {
	const struct outlook *drawn;
	const struct exploration *account;
	/* How long the job would wait for what lanes lack; NULL: it does not. */
	const struct node_stay *stay;
	time_t now;
	/* How long it would be beside the partners of a candidate at most, s; 0: it does not try
	 * them. Called once for each group, with the arg of struct node_yield. */
	double (*overlap_s)(const struct candidate *c, void *arg);
};

/* How a job looks at lanes by what they bring: lane_yield.h. */
struct node_yield {
	const struct poppa_settings *settings;
	const struct outlook *outlook;
	bool others_wait; /* so an empty node costs something */
	/* Fills in the partners of a candidate that has some, and returns how many these are;
	 * called once for each group. */
	int (*partners)(const struct candidate *c, void *arg,
		struct lane_partner partner[LANE_PARTNERS_MAX]);
	void *arg;
	const struct node_exploration *exploration; /* NULL: it goes by what is expected alone */
};

/* What node_choice_by_yield() has found. */
struct node_choice {
	int good; /* so many come first: they bring the job more than an empty node does */
	/* What the best of them lack (lane_yield_order()); above 0 the job had better wait for
	 * others, if it may. 0 where there are empty nodes enough. */
	double lack;
	/* What it costs if the job gets one of the nodes that it would explore. */
	struct exploratory_start exploratory;
};

/*
 * Orders candidates by what their lanes bring, less what that costs partners. First in `c` are the
 * `count` candidates with partners; behind them are the `empty` ones without. Afterwards the good
 * ones with partners come first, then the empty ones, then the rest. Empty nodes with other numbers
 * of lanes, or on which the job is of another class, are separate offers. Nodes with the same
 * partners are one, by the first of them. Where with: names a partner, or the caller cannot tell
 * the partners of a candidate, node_choice_order() decides: all are good then, and they lack
 * nothing. Where the job starts to explore, its nodes are in front. Takes time count * (log(count)
 * + 256). Returns 0, or -1 with ENOMEM and the order untouched.
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
	time_t eligible; /* when it became so; 0: it has not been yet, so that counts from now */
	int64_t limit_s; /* its time limit */
	double usual_s;  /* what jobs of its name usually take: job_names_usual_s() */
};

/* What lanes lack beside partners with which sharing certainly loses. */
#define NODE_LOSES INFINITY

/*
 * The time from which on a job is placed where lanes lack so much (node_choice.lack, NODE_LOSES),
 * if no other node is free. It is the soonest of these after it became eligible: stripe_wait; a
 * quarter of its time limit; twenty times what it would lose there, if it ran as long as such jobs
 * usually do. A short job gains little by a better partner. Where that is not known, a quarter of
 * its limit counts. A job without a limit, of which nobody knows how long it runs, waits only where
 * sharing certainly loses. 0 = at once.
 */
time_t node_choice_patience(
	const struct poppa_settings *s, const struct node_stay *stay, time_t now, double lack);

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

/*
 * Of candidates in that order, moves those to the front that become free last; those of one time
 * keep their order. For a start that is planned: whatever nodes it is to have, it waits for the
 * last of these, and until then nodes that are free earlier serve others. 0, or -1 with ENOMEM.
 */
int node_choice_latest(struct candidate *c, int count);
