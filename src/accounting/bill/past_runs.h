/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user's earlier runs of one kind of job tell of the next one. */
#pragma once

#include "accounting/bill/compact.h"
#include "accounting/bill/student.h"
#include "common/price_policy.h"

/* The kind of job: a class that --colocate=class: names, or else the jobs' name, in which each
 * number is as good as another. */
struct past_kind {
	const char *user, *name;
	bool named; /* the name is one of a class */
};

struct past_runs {
	int runs;             /* that tell of the loss: measured whole, and beside others */
	double beside_s;      /* their time beside co-runners */
	double all_s;         /* all of their time */
	int co_runners;       /* different jobs that were beside them */
	bool more_co_runners; /* and others, which their prices do not name */
	int64_t last;         /* when the last of them ended, seconds since 1970 */
	const char *qos;      /* of that one; NULL without runs. The list of bills owns it */
	struct student loss;  /* degradation beside co-runners; weights: seconds beside them */

	/* Prices of these runs by the policy that now holds; weights: seconds. All empty where it
	 * is not known. */
	struct student rate;  /* charged, as a share of what Slurm counts */
	struct student work;  /* the same for the same work, against alone on its lanes */
	struct student plain; /* the same against plain runs; of the runs that have such */

	/* Runs that tell nothing of the loss, and why: */
	int no_data;   /* no degradation was measured */
	int doubtful;  /* not all of it was measured, or it may be too low */
	int alone;     /* nobody was beside it */
	int unsettled; /* it runs, or has no price yet */
};

/* Whether the bill is of a co-located run of this kind. */
bool past_runs_are(const struct past_kind *kind, const struct bill *b);

/* Adds up the runs of this kind. plain: the same user's plain runs, or NULL; policy: NULL = not
 * known. 0, or -1 without memory. bills must live as long as out. */
int past_runs_make(const struct bills *bills, const struct past_kind *kind,
	const struct plain_runs *plain, const struct price_policy *policy, struct past_runs *out);
