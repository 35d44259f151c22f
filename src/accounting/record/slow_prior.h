/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is believed of slow cache refill on a type of nodes, and how its jobs change that. */
#pragma once

#include <stdbool.h>
#include <jansson.h>

/*
 * How fast a cache refills when the co-runners of a job have stopped is also the machine's. So what
 * the long blocks of all jobs on nodes of one type tell is the prior of the next job there, whose
 * own long blocks are few at first.
 *
 * There are three hypotheses of the share of its loss that a job gets back too slowly for a usual
 * block (poppa/estimate/slow_refill.h).
 */
enum slow_hypothesis {
	SLOW_NONE,   /* nothing comes back slowly */
	SLOW_NARROW, /* some does */
	SLOW_WIDE,   /* perhaps nearly all does */
	SLOW_HYPOTHESES
};

/* Room for the type of a node with its end: a text of printable ASCII. */
#define SLOW_NODE_TYPE 96

/* How likely each hypothesis is before any long block. The weights sum to 1. */
struct slow_prior {
	double weight[SLOW_HYPOTHESES];
};

/* Where nothing was learned. */
extern const struct slow_prior slow_prior_default;

/* What comes from outside: whether no weight is below SLOW_PRIOR_LEAST, and they sum to 1. */
#define SLOW_PRIOR_LEAST 0.005
bool slow_prior_valid(const struct slow_prior *p);

/* The largest difference between two weights of the same hypothesis. */
double slow_prior_distance(const struct slow_prior *a, const struct slow_prior *b);

/* Whether these are likelihoods of a job's long blocks: none is negative, and they sum to 1. */
bool slow_likelihood_valid(const double likelihood[SLOW_HYPOTHESES]);

/* {"none","narrow","wide"}: a new reference, or NULL when out of memory; and back: 0, or -1 where
 * it is no valid prior, with *p untouched. */
json_t *slow_prior_to_json(const struct slow_prior *p);
int slow_prior_from_json(const json_t *json, struct slow_prior *p);

/*
 * What one user's jobs on one type of nodes have told. A user has one vote, however many jobs: the
 * weights that the user's own jobs suit best, starting at the default.
 */
struct slow_vote {
	struct slow_prior weights;
	double told; /* how much, in jobs that leave no doubt; at most SLOW_VOTE_JOBS */
};

#define SLOW_VOTE_JOBS 16.0 /* a vote is of about so many last jobs */

/* A vote to which no job has told anything. */
void slow_vote_init(struct slow_vote *v);

/* Adds what a job's long blocks tell, by valid likelihoods. Where they are all alike, nothing
 * changes. */
void slow_vote_add(struct slow_vote *v, const double likelihood[SLOW_HYPOTHESES]);

/*
 * The prior that follows from n users' votes: their mean together with SLOW_DEFAULT_VOTES votes for
 * the default. A vote counts less where it was told of less than one job. No vote depends on
 * another one. So a user moves each weight, and with it others' bills, by no more than 1/(4+U),
 * where U is the sum of all such votes, and by some thousandths, where a weight is kept from
 * falling below SLOW_PRIOR_LEAST. *p is valid.
 */
#define SLOW_DEFAULT_VOTES 4.0
void slow_prior_of_votes(const struct slow_vote *v, int n, struct slow_prior *p);
