/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which jobs may share a node, and how well they suit each other.
 *
 * Who suits whom is decided in this room, and each decision has one file:
 *   partner.c        who may share a node at all (partner_compatible), what sharing costs them
 *                    (partner_loss), and what of that is certain (partner_certain)
 *   expected_end.c   when jobs that share are expected to end, and whether that puts off others
 *   separation.c     when a job whose limit is not kept leaves its partners
 *   node_choice.c    which nodes come first, by yield or by losses and group sizes; stripe_match;
 *                    where sharing certainly loses, and how long a job waits for better
 *   partner_times.c  from which moment on enough nodes that suit are free together
 *   expectation.c    what two classes are expected to lose, also where they have never met:
 *                    expectation_table.c has what is known, expectation_hints.c what others know,
 *                    and expectation_parameters.c fits the model to both
 *   outlook.c        how fast the classes that are about go beside each other
 *   lane_yield.c     which lanes bring a job most, less what partners lose, or whether it waits
 *   exploratory_start.c
 *                    whether a job explores lanes of which little is known; exploration.c: how
 *                    much lane time that may take
 *
 * What is known of classes of jobs is in striping/history: pairs.c gives partner.c and
 * expectation.c their numbers, and job_class.c says of which class a job is.
 *
 * None of them knows Slurm. In plugins/select_stripe, candidates.c lists the nodes with their
 * partners, and place.c says in which order Slurm's own plugin is asked about them, and how often.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "striping/submit/apart.h"
#include "striping/submit/colocate_option.h"
#include "striping/history/pairs.h"

/* A job as partner choice sees it. */
struct partner {
	uint32_t id;
	uint32_t array_id; /* id of the array that it is an element of, 0 for none */
	const char *name;
	const char *class_name; /* kind of job in the pair history, by job_class() */
	const struct colocate *request;
	const struct apart *apart; /* whom it has left; NULL: nobody */
	bool may_leave; /* its limit is watched, and it may be requeued where that is not kept */
};

/*
 * Whether the jobs others[0..count) and me can share a node, by what all of them asked for: none
 * asked for "spread"; with: and not: hold in both directions; and each job that set max-degradation
 * loses at most that much beside all the rest: with 95 % confidence where the history has evidence
 * (pairs_certain()), else by the mean of what it knows. A pair that the history does not know
 * satisfies no limit; a job that has left another one (separation.h) is never beside that again.
 * pairs may be NULL: an empty history.
 */
bool partner_compatible(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs);

/*
 * The same for a job that is about to start and may try partners that the history does not know: so
 * it is on probation beside them. For its own limit only what the history knows of the others
 * counts. For theirs all must be known, as they would have to be held for it.
 */
bool partner_on_probation(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs);

/* What the job adds to struct candidate's `group` of a node that it is on, so that nodes with the
 * same jobs, in whatever order, are of one group. */
uint64_t partner_group(uint32_t id);

/* Whether one of the two asked for the other by with:. */
bool partner_named(const struct partner *a, const struct partner *b);

/*
 * The expected loss of sharing (less is better): the sum of the degradations of each job beside all
 * the others. Degradations by several partners combine as 1 - product of (1 - D). An unknown pair
 * counts with the history's mean.
 */
double partner_loss(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs);

/* Of that, the degradation of one: the i-th of all the jobs, of which 0 is me. */
double partner_degradation(const struct partner *me, const struct partner *const *others, int count,
	int i, const struct pairs *pairs);

/*
 * What is certain of sharing a node, by pairs of which there is evidence (pairs_certain()); the
 * others count as losing nothing. own: out, the least that me loses beside the others. rest: out,
 * the most that the others make beside each other and me, in jobs' progress alone: at most count.
 * So where rest < own, all of them together make less progress than one of them alone.
 */
void partner_certain(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs, double *own, double *rest);
