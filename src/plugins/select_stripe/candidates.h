/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes on which a co-located job may be placed, and the lane it would have there. */
#pragma once

#include "plugins/compat/select_compat.h"
#include "plugins/select_stripe/layout.h"
#include "striping/partners/node_choice.h"
#include "striping/partners/partner.h"
#include "striping/partners/partner_times.h"

/* Whom a job may preempt, by ids in ascending order; a walk over Slurm's list for each job of each
 * node would take as long as both together are long. NULL until it is asked for. */
struct preemptable {
	uint32_t *id;
	bool *listed; /* it is in *preempted; ask_cons_tres_preempt_rest() fills this in */
	int count;
};

/* A waiting job that Slurm has planned to start, and when. */
struct planned {
	uint32_t job_id; /* 0 = none */
	time_t start;
};

/* One call of job_test, with what the wrapper knows about the job. */
struct ask {
	job_record_t *job_ptr;
	time_t now;
	bitstr_t *nodes; /* usable ones */
	uint32_t min_nodes, max_nodes, req_nodes;
	uint16_t mode;
	list_t *preemptable; /* NULL: none */
	struct preemptable *by_id;
	list_t **preempted;
	compat_exc_t exc; /* the caller's; may be NULL */
	compat_will_run_t will_run;
	/* Of a co-located job: */
	struct colocate request;
	struct partner me;
	struct apart apart;
	bool probation; /* it may also be where it would be on probation */
	/* Its class on nodes of each type, where there is one (layout_type()); that on others is
	 * in `me`. */
	char class_name[LAYOUT_TYPES][PAIRS_CLASS_MAX];
	int mine[LAYOUT_TYPES]; /* the number of each in the outlook, where there is one */
	const struct pairs *pairs;
	const struct outlook *outlook;     /* what it says of the lanes; NULL: nothing yet */
	const struct outlook *drawn;       /* the same to explore by; NULL: the job does not */
	const struct exploration *account; /* of exploratory starts */
	bool tries;                        /* what is looked for now may be an exploratory start */
	bool others_wait;                  /* for a place */
	const struct poppa_settings *settings;
	int size; /* nodes that it will have, for stripe_match; 0 where that allows all */
	struct node_stay stay; /* how long it runs, as far as that is known */
	/* From when on it may be placed where sharing certainly loses, and so the latest until
	 * which it waits for better lanes; 0 = at once. See node_choice_patience() */
	time_t patient_until;
	/* out: only patience keeps it from a start now, as far as lanes go, until then; 0 = it does
	 * not */
	time_t waits_until;
	bool hopes; /* out: and that because all lanes bring little, so it is not planned before */
	struct planned behind; /* out: it would put this one off if it started now (ends.h) */
	bitstr_t *on_sockets;  /* out: where its lanes are whole sockets; NULL: nowhere */
	bool found;            /* out: there are lanes now that it may have, or may be elsewhere */
	/* out: it was placed to start like this; no lanes: not to explore */
	struct exploratory_start exploratory;
};

struct candidates {
	struct candidate *c;
	int count, shared; /* shared ones come first */
	int worse;  /* so many more follow: they are shared, and an empty node is better for the job
		     */
	bool alike; /* to Slurm's plugin any of the others is as good as the next */
	const config_record_t *config; /* of the first of the others */
	uint32_t cpus;                 /* how many the job can use of the widest lane */
	time_t alone;      /* when the partner ends that the job names by with:; 0 = none runs */
	bool partner_only; /* the job must have a node of that partner */
	int left_out;      /* how many more can take it now, but sharing would lose there */
	bool enough;       /* with those there are as many as the job needs */
	double lack;       /* what can take it now lacks so much; above 0 it had better wait */
	struct planned behind; /* nodes are left out where it would put this one off */
	/* what it costs to take some that explore (struct candidate) */
	struct exploratory_start exploratory;
};

/* CPUs that the job can use of one of the lanes that it may get of the node; 0 where that cannot
 * hold what it asks of a node, or where it would take other lanes' share of the memory. */
uint32_t candidates_lane_cpus(const struct ask *ask, int node);

/* For how many CPUs of a node's lane memory per CPU counts, as in submission_check(). */
int candidates_memory_cpus(const job_record_t *job_ptr, const struct layout *layout);

/* Whether there is a lane of the node that the job may get, of which the caller excludes no core.
 */
bool candidates_lane_left(const struct ask *ask, int node);

/*
 * Whether another question about the job may find a free lane: on nodes of its partition that this
 * one is not about. Slurm asks about the nodes of the least weight first, and about some features
 * after others.
 */
bool candidates_elsewhere(const struct ask *ask);

/* The least number of nodes for the job's tasks, with lanes of at most this many CPUs. */
uint32_t candidates_nodes_needed(const struct ask *ask, uint32_t lane_cpus);

/* How many nodes the job would like to have, at least need. */
uint32_t candidates_wanted(const struct ask *ask, uint32_t need);

/* Whether the job may share a node with these. */
bool candidates_suit(const struct ask *ask, const struct partner *const *others, int count);

/* Sets ask->size and returns about how many nodes the job will have; what it asks for must be
 * filled in before. */
uint32_t candidates_measure(struct ask *ask);

/*
 * The nodes that can take the job now, best first: those with partners as node_choice_order() or
 * node_choice_by_yield() says, then the empty ones, then those that are worse. preempt: as if all
 * preemptable jobs were gone. losing: also those where sharing certainly loses, whatever
 * ask->patient_until says. Nodes where a start puts off planned ones are left out, but with
 * `preempt`. need: out, the least number of nodes that the job can do with.
 */
struct candidates candidates_now(const struct ask *ask, bool preempt, bool losing, uint32_t *need);

/* All nodes that can ever take it, by the time from which they can. */
struct candidates candidates_later(const struct ask *ask, uint32_t *need);

/* As candidates_now(), when all jobs are gone that should have ended by then. */
struct candidates candidates_at(const struct ask *ask, time_t when, uint32_t *need);

/* The moments from which enough nodes are free together: partner_times_starts(). */
int candidates_starts(const struct ask *ask, time_t *start, int max);

/* For a job that did not opt in: the nodes with co-located jobs, by the end of the last of these.
 * all: all nodes, by the end of the last of all their jobs. */
struct candidates candidates_vacated(const struct ask *ask, bool all);

/* When the last of those candidates is free that are among these nodes. */
time_t candidates_latest(const struct candidates *list, bitstr_t *nodes);

/* Where in ask->by_id the job with this id is; -1: it may not be preempted for the asking job. */
int candidates_preemptable(const struct ask *ask, uint32_t job_id);
void candidates_free_preemptable(struct preemptable *p);

void candidates_free(struct candidates *list);
