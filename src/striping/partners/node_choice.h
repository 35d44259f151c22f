/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the nodes that could take a co-located job it is to have. Knows no Slurm. */
#ifndef POPPA_STRIPING_PARTNERS_NODE_CHOICE_H
#define POPPA_STRIPING_PARTNERS_NODE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/settings.h"

/* A node and the lane that the job would have there. */
struct candidate {
	int node;
	int lane;
	bool shared;    /* has a partner there */
	bool named;     /* all its partners are so by with:, and stripe_match does not count */
	double loss;    /* expected, by the partners (partner_loss()) */
	uint64_t group; /* the same for nodes with the same partners, and so the same loss */
	time_t when;    /* the lane is to be had from here on; 0 = now */
};

/*
 * Whether jobs of so many nodes may be partners under the setting stripe_match: any; of equal
 * size; or the smaller one at most the fraction `within` smaller than the bigger one.
 */
bool choice_matches(const struct poppa_settings *s, int nodes, int partner_nodes);

/*
 * Whether so many nodes with the same partners, `named` as in struct candidate, serve a job that
 * needs and wants so many, with as many as it lacks of the empty ones: where stripe_match counts,
 * a job has partners of one kind on all its nodes, or with `within` on some and none on the rest.
 */
bool choice_serves(
	const struct poppa_settings *s, int group, bool named, int empty, int need, int want);

/*
 * Orders candidates that have partners for a job that wants so many nodes: first by expected loss,
 * in steps of one percent, below which experience with pairs is noise. Among equals whole groups:
 * those of just that size, then the bigger ones with the least left over, so that big ones stay
 * whole for big jobs, then the smaller ones, biggest first. Returns 0, or -1 with ENOMEM and the
 * order untouched.
 */
int choice_order(struct candidate *c, int count, int wanted);

/* How many candidates from the i-th on are of its group. */
int choice_group(const struct candidate *c, int count, int i);

/* For qsort(): by the time from which they are to be had, then by loss, group and node. */
int choice_by_time(const void *a, const void *b);

#endif
