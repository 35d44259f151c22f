/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which jobs may share a node, and how well they suit each other.
 *
 * Who suits whom is decided in this room, and each decision has one file:
 *   partner.c        who may share a node at all (partner_compatible), and what sharing costs them
 *                    (partner_loss)
 *   node_choice.c    which nodes come first: the order of losses and group sizes, and stripe_match
 *   partner_times.c  from which moment on enough nodes that suit are free together
 *   pairs.c          what is known of two classes of jobs: it gives partner.c its numbers
 * None of them knows Slurm. In plugins/select_stripe, candidates.c lists the nodes with their
 * partners, and place.c says in which order Slurm's own plugin is asked about them, and how often.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "striping/submit/colocate_option.h"
#include "striping/partners/pairs.h"

/* A job as partner choice sees it. */
struct partner {
	uint32_t id;
	uint32_t array_id; /* id of the array that it is an element of, 0 for none */
	const char *name;
	const char *class_name; /* kind of job in the pair history, from pairs_class() */
	const struct colocate *request;
};

/*
 * Whether the jobs others[0..count) and me can share a node, by what all of them asked for: none
 * asked for "spread"; with: and not: hold in both directions; and each job that set max-degradation
 * is expected to lose at most that much beside all the rest. A pair that the history does not know
 * satisfies no limit. pairs may be NULL: an empty history.
 */
bool partner_compatible(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs);

/* Whether one of the two asked for the other by with:. */
bool partner_named(const struct partner *a, const struct partner *b);

/*
 * The expected loss of sharing (less is better): the sum of the degradations of each job beside all
 * the others. Degradations by several partners combine as 1 - product of (1 - D). An unknown pair
 * counts with the history's mean.
 */
double partner_loss(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs);
