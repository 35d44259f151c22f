/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine, its jobs and the policy that places them: what all files of the simulator share.
 *
 * A node has two lanes. A job of n nodes compact takes either both lanes of n nodes, or one lane of
 * each of 2n: so it has the same cores. Two jobs on the two lanes of a node are partners. Who does
 * what:
 *   engine.c    the event loop: submissions, ends, limits; each event changes the state by one step
 *   backfill.c  which job of the queue may start where, and which places are kept for later
 *   policy/      which of these places a job takes
 *   pace.c      how fast a job then is
 *   learn.c     what the history learns of it
 *   measures.c  what comes out
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/record/record.h"
#include "common/errmsg.h"
#include "common/settings.h"
#include "sim/world/matrix.h"
#include "sim/measures.h"
#include "sim/world/workload.h"
#include "striping/history/pairs.h"
#include "striping/partners/exploratory_start.h"
#include "striping/submit/colocate_option.h"

#define LANES 2
#define NOBODY (-1)

struct node {
	int job[LANES]; /* NOBODY = the lane is free; the same job twice: it has the whole node */
	/* The share of the time for which each lane's job runs alone, by turns; usually 0. */
	double alone[LANES];
	double since;    /* what comes is counted up to here, s */
	bool below;      /* both jobs together make less progress than one after the other */
	bool met[LANES]; /* the lane's job has had a partner here */
};

/* What a job's records will tell of one partner. */
struct met {
	int job;
	int nodes; /* of the job that it was on */
	bool here;
	double seconds, lost_s;
	double left_s; /* when it ended, once it is not here */
};
#define MOST_MET RECORD_MAX_PARTNERS

enum run_state { RUN_COMING, RUN_WAITING, RUN_RUNNING, RUN_DONE };

/* One job as it goes. Times are seconds. */
struct run {
	enum run_state state;
	int before, after; /* neighbours in the queue, NOBODY = none */
	bool requeued;
	double promised_s; /* the first start that was planned for it; < 0 = none was */
	double wakes_s;    /* when its patience ends; < 0 = it has not waited by choice */
	/* What a policy that matches has given it: the partner whose nodes it is to have (NOBODY:
	 * those without one), or one of the next two. */
	int place;
	double passed_over_s; /* since when others were given places before it; < 0 = they were not
			       */

	int *node; /* its nodes, while it runs */
	int nodes;
	int lanes; /* on each of them */
	double start_s;
	double since_s;       /* its progress is known up to here */
	double progress_s;    /* of its compact run time */
	double rate;          /* progress a second */
	double plain;         /* what the matrix says of that, without noise */
	double beside_d;      /* degradation beside its partners, without turns */
	double beside;        /* share of its nodes with a partner */
	double end_s;         /* where its time limit ends, or its run is expected to */
	unsigned int version; /* events of an earlier one are void */

	/* What its nodes' records will tell. */
	double lost_s;   /* to partners, as the records add nodes up */
	double beside_s; /* with a partner on some node */
	double met_s;    /* when the last partner came, or this job to it */
	int partners;    /* how many it had */
	struct met *met; /* the first MOST_MET of them, while it runs */
	int met_nodes;   /* on which it had any */
	double untold_s; /* beside others than these */
};

/* What policies that go by the pair history have made of it. */
struct learned {
	long runs, fitted; /* that are in the history, and were when `expected` was fitted */
	struct expectation *expected;
	struct outlook *outlook, *drawn;
	int *in_expected, *in_outlook; /* the numbers of each variant of the workload there */
	double outlook_s;              /* when it was made */
	/* The account of exploratory starts, up to when lanes have earned, how many lanes have
	 * jobs, and what the last placement costs if it is one (policy_ours.c). */
	struct exploration account;
	double earned_s;
	long lanes;
	struct exploratory_start exploratory;
	int tried; /* the job that it is of, NOBODY = none */
};

struct backfill;
struct event;
struct policy;

#define PLACE_ANY (-2)   /* whatever is best for it */
#define PLACE_LATER (-3) /* the same, after all others */

struct sim {
	/* The world, the same for all policies. */
	const struct workload *work;
	const struct matrix *matrix;
	const struct poppa_settings *settings;
	uint64_t seed;
	double noise; /* standard deviation between runs of a pair, and of measurements */
	double cap;   /* the limit for the degradation of capped jobs */
	const char
		*history; /* a file of what is known for good; NULL = nothing, and it is learned */
	/* What jobs ask for: --colocate, and --colocate=max-degradation of that cap. */
	const struct colocate *request;
	bool conservative;
	bool plan_by_limits; /* starts are planned by limits as they are, not by expected ends */
	int depth;           /* how many waiting jobs a pass looks at */

	const struct policy *policy;
	struct pairs *pairs; /* what has been learned */
	int *known_partners; /* of each class in it */
	bool *met;           /* whether a class has met another one: [one * classes + other] */
	struct learned learned;
	int asked; /* the job that a place is looked for */

	double now;
	struct node *node;
	int nodes;
	int open, empty; /* nodes with a free lane, and with two */
	struct run *run;
	int first, last; /* of the queue, NOBODY = empty */
	int waiting;
	double progress_rate; /* of all running jobs, compact node-seconds a second */
	int *running;         /* running jobs, in no order */
	int running_count;
	int *stamp, stamps; /* marks jobs as seen, see sim_mark() */

	struct event *event; /* a heap */
	int events, event_room;
	long event_order;

	struct backfill *backfill; /* places kept for later */

	struct measures measures;
	int out_of_memory;
	int unworked; /* jobs that ended before their work was done: a fault */
};

/* So many lanes of the node are free. */
int sim_free(const struct sim *s, int node);

/* The other job on the node, NOBODY = none. The job itself need not be there. */
int sim_partner(const struct sim *s, int node, int job);

/* Begins to mark jobs; sim_mark() returns whether the job had no mark. */
void sim_unmark(struct sim *s);
bool sim_mark(struct sim *s, int job);
