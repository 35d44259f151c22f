/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the nodes that can take a co-located job come first. Knows no Slurm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/settings.h"

/* A node and the lane that the job would have there. */
struct candidate {
	int node;
	int lane;
	bool shared;    /* has a partner there */
	bool named;     /* all its partners are named by with:, so stripe_match does not count */
	double loss;    /* partner_loss() of the job and its partners there */
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

/* How many candidates in a row, from the i-th on, are of the i-th one's group. */
int node_choice_group(const struct candidate *c, int count, int i);

/* For qsort(): candidates by the time from which they are free; at the same time those with
 * partners first, then by loss, group and node. */
int node_choice_by_time(const void *a, const void *b);
