/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast a co-located job was against runs of the same work without --colocate, on whole nodes.
 */
#pragma once

#include "accounting/bill/bill.h"

/*
 * What a job's progress against plain runs is worth. A plain run is one that completed without
 * --colocate, of the same cluster and user, with the same name but for its digits, and with as many
 * CPUs. That such runs do the same work is an assumption; how much they differ is the evidence.
 */
enum compact_doubt {
	COMPACT_NONE,      /* no doubt */
	COMPACT_APART,     /* the plain runs' times differ too much to be the same work */
	COMPACT_ONE_RUN,   /* there is only one, so nothing is known of how much they differ */
	COMPACT_PARTITION, /* some ran in another partition, where nodes may be others */
	COMPACT_PART,      /* they did not fill their nodes: CPUs were idle, or had other jobs */
	/* No figure: */
	COMPACT_NO_RUN,     /* there is no plain run of that name */
	COMPACT_OTHER_CPUS, /* those that there are had another number of CPUs */
	COMPACT_NOT_DONE, /* the job has not completed, or was resized, so its work is not known */
	COMPACT_DOUBTS
};

struct compact {
	enum compact_doubt doubt;
	int runs;        /* plain runs that count, 50 at most: those that started nearest to it */
	double run_s;    /* median of their times */
	double node_s;   /* median of their times on all of their nodes, in node seconds */
	double apart;    /* their quartiles' distance (of fewer than four: that of the least and the
			    most), as a share of the median; NAN for one */
	double power_w;  /* mean of those of which the energy is known; NAN = of none */
	double progress; /* S/M of equation 2.2: CPU seconds of the plain run over those of this
			    one; NAN = unknown */
};

/* The plain runs of a list of bills, which must live as long. */
struct plain_runs;

/* Whether two names are the same but for their digits. */
bool compact_alike(const char *a, const char *b);

/* NULL without memory; plain_runs_free() takes NULL. */
struct plain_runs *plain_runs_find(const struct bills *bills);
void plain_runs_free(struct plain_runs *r);

/* The progress of a run, which may be of another list, against these plain runs; none of a plain
 * one. */
struct compact compact_of(const struct plain_runs *r, const struct bill *b);

/* Whether there is a figure, and whether it can be counted on. */
bool compact_known(const struct compact *c);
bool compact_sure(const struct compact *c);

/*
 * The same progress in the time beside co-runners only: a job loses nothing to them while it is
 * alone on its lane, so there it is faster by (1-D)/(1-Dco) than over the whole run. NAN where
 * that is not known.
 */
double compact_beside(const struct compact *c, const struct bill *b);

/* What two co-runners made in the time that they shared: equation 2.2 of the thesis for two jobs,
 * (S1/M1 + S2/M2) / 2. NAN where that of one is not known. */
double compact_stp(const struct compact *one, const struct bill *b, const struct compact *other,
	const struct bill *partner);

/*
 * Node seconds that the job has saved: those of the median plain run, less its own. Of its nodes it
 * counts half while it had co-runners, and the whole while it was alone. NAN without a figure that
 * can be counted on, without a degradation, and on nodes of more than two lanes, of which bills do
 * not tell how many had jobs.
 */
double compact_saved_node_s(const struct compact *c, const struct bill *b);

/* "apart", "one-run", ..., "" for none; and the same in words, to stand behind "because". */
const char *compact_doubt_name(enum compact_doubt doubt);
const char *compact_doubt_why(enum compact_doubt doubt);
