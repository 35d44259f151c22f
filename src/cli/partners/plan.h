/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of jobs that poppa plan places one after the other, and why each is where it is. */
#pragma once

#include <stdbool.h>
#include <jansson.h>

#include "cli/partners/known_pairs.h"
#include "common/errmsg.h"
#include "striping/partners/lane_yield.h"

#define PLAN_JOBS 10000
#define PLAN_NODES 1000000

struct planned {
	char class[PAIRS_CLASS_MAX];   /* to be shown, once its number is known */
	char variant[PAIRS_CLASS_MAX]; /* the same for so many nodes */
	int number;                    /* of that, in the outlook */
	int nodes;                     /* on each of which it has one of two lanes */
	int alone;                     /* so many of them have no partner yet */
	double pace;                   /* at which it goes, as outlook_speed() */
	json_t *beside;                /* owned; the jobs that were there before it */
	bool waits;                    /* it has no nodes */
	/* Why it waits, or shares, or has empty nodes: NULL where it does not; owned. */
	char *why_waits, *why_shares, *why_alone;
	int joined_by,
		joiners; /* the first of the jobs that came beside it later, and their number */
};

struct plan {
	const struct known_pairs *known;
	struct outlook *outlook;
	struct planned *job; /* room for PLAN_JOBS */
	int jobs, waiting;
	int most; /* nodes that there are; 0: enough for all */
	/* So many nodes are in use; what is made on those with two jobs, and how many these are. */
	long nodes, shared;
	double made;
};

/* Reads jobs from a file, or with NULL from standard input; or the co-located jobs of the cluster's
 * queue by squeue, those that run first. 0, or -1 with err, which names the line. */
int plan_read_file(struct plan *p, const char *path, struct errmsg *err);
int plan_read_queue(struct plan *p, struct errmsg *err);

/*
 * What a job was offered, as lane_yield_order() has ordered it. The id of an offer with a partner
 * is the partner's job; `empty` is where that of empty nodes is, -1: there are none.
 */
struct plan_offers {
	const struct lane_offer *of;
	int count, empty;
	const struct lane_wish *wish;
	double lack; /* lane_yield_order() */
};

/*
 * The reasons, as texts that the caller frees; NULL without memory. Each tells what has decided.
 * few: so many nodes have a free lane, and the job needs more. waits: the lanes bring too little.
 * shares: behind = one of them is worse than an empty node, of which none is left; alone: it
 * has empty nodes in spite of the lanes beside others.
 */
char *plan_why_few(const struct planned *j, long free);
char *plan_why_waits(const struct plan *p, const struct plan_offers *o);
char *plan_why_shares(const struct planned *j, bool behind);
char *plan_why_alone(const struct plan *p, const struct plan_offers *o);

/* All that is to be said of a job in one sentence, which the caller frees; NULL without memory. */
char *plan_why(const struct plan *p, const struct planned *j);
