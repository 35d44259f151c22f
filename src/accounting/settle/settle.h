/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides what a run of a job is charged, from what Slurm and the nodes know about it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/record/price.h"
#include "accounting/record/record.h"
#include "accounting/record/settlement.h"

struct settle_node {
	char name[64];
	double weight;   /* its share of the bill: cores, or CPUs, of the job there */
	int64_t wall_ns; /* how long the job had the node; 0 = for all of the run */
};

/* What Slurm knows of the run. */
struct settle_job {
	const char *cluster;
	uint32_t job_id;
	uint32_t restart;
	uint32_t uid;
	int64_t start_unix, end_unix;
	int64_t wall_ns; /* from start to end without suspended time */
	uint64_t raw;    /* billing that Slurm charged; for the last size of a resized job */
	const struct settle_node *nodes; /* all nodes that it had at any time */
	int node_count;
	const struct settlement_size *sizes; /* sizes before the last one, oldest first */
	int size_count;
	int64_t extended;     /* how far the end of its time limit was moved, seconds */
	const char *bound;    /* what kept that from being more, one word; NULL = nothing */
	const char *unpriced; /* why the run cannot be priced, one word; NULL = it can */
};

/* Whether each of the job's nodes has sent its final record. A record that ended before the job
 * began does not count: it may be of an earlier run of the same id. */
bool settle_complete(const struct settle_job *job, const struct ledger_record *records, int count);

/*
 * Fills in a settlement and its comment: the price by a policy, and the facts that it follows from.
 *
 * The sums over the nodes go by weight and time:
 *   Z = sum w*paused / sum w*wall,  D = sum w*D_i*co_i / sum w*(wall - paused).
 * Time without a co-runner and time that poppad did not see count with D = 0. A node that sent no
 * record, or has no degradation for its co-located time, gets no discount: its share counts with
 * D = 0 (and without a record with Z = 0), and out->with_data and out->nodes show it.
 *
 * The run has no degradation, pays raw*(1-Z), and has the reason in out->nodata where no node has
 * data, where the 95 % interval of D is wider than D plus or minus 0.25, where a node's D is above
 * 1, or where a node has seen the job react to its shutters.
 *
 * A resized job has one D and one Z for all of its sizes, and pays the same share of each size's
 * billing (settlement_share()): out->raw and out->charged are of the last size.
 *
 * A record that claims more time than the job had the node is scaled down to that time. Records of
 * other nodes, users or runs do not count; a record is of another run if it was registered more
 * than LEDGER_CLOCK_SLACK_S before or after this one. Of several records of one node only the one
 * whose start is nearest to the run's counts.
 */
void settle_decide(const struct settle_job *job, const struct ledger_record *records, int count,
	const struct price_policy *policy, int64_t now_unix, struct settlement *out);

/*
 * What the run would have taken alone on its lanes, T (1-Z) (1-D),
 * seconds; NAN where D is not certain: not measured on all nodes and for all of the time, or within
 * more than plus or minus 0.1.
 */
double settle_spread_s(const struct settle_job *job, const struct settlement *price);

/*
 * The line that tells a run's cycles per instruction by its misses in the last-level cache per
 * instruction (thesis, section 2.4.2), by all nodes that have found one.
 */
struct settle_miss {
	double base_cycles; /* of an instruction at no miss */
	double miss_cycles; /* that each miss adds */
};

/* Nodes tell a line by so many blocks at least; of fewer it does not count. */
#define SETTLE_MISS_BLOCKS 30
/* Nodes whose numbers are further apart than by this factor do not show one program: of 30 blocks
 * with r^2 = 0.9 a node's slope is off by 6 %. */
#define SETTLE_MISS_APART 2.0

/*
 * The geometric means of the nodes' numbers, weighted by their blocks. false: no node has a line,
 * one has a number that is not above 0, they are apart, or the run's price says that what was
 * measured of it does not count (no degradation, or tasks that wait in a loop, whose instructions
 * are no work).
 */
bool settle_miss(const struct settle_job *job, const struct ledger_record *records, int count,
	const struct settlement *price, struct settle_miss *out);

/* What a running job has lost until now. */
struct settle_loss {
	double told_s; /* the time from its start that a node has told of, suspended time left out
			*/
	double lost_s; /* of that, to co-runners, at the end of D's interval that favours the user
			*/
	double held_s; /* of that, held for measurements */
	bool known;    /* lost_s is */
	bool sensing;  /* a node has seen the job react to its shutters */
	bool unkept;   /* a node says that it cannot keep the job's max-degradation */
};

/*
 * Adds the nodes up as settle_decide() does, with three differences. A job that goes on together
 * waits for its slowest node: where one node's D is above that of all nodes with 95 % confidence,
 * the job has lost what it lost there. Nodes send their records at different times: of time that a
 * node has not told of yet nothing is supposed, so it loses as in the time that the node has told
 * of, unless that is minutes behind what other nodes have told of. And where the interval of D is
 * wider than D plus or minus 0.25, or that of a node's D is too wide or follows from too few
 * blocks, the loss is known nevertheless if D is certainly above 0: it is that of the interval's
 * end, and not more than that of D plus 0.25.
 */
void settle_loss(const struct settle_job *job, const struct ledger_record *records, int count,
	struct settle_loss *out);

/* The program that used most of the run's processor time, as the first of its nodes tells that
 * knows one; "" = none does. The text is the record's. */
const char *settle_program(
	const struct settle_job *job, const struct ledger_record *records, int count);

/* What a run shows about two jobs side by side. */
struct settle_pair {
	uint32_t partner;
	double degradation; /* in the time with the partner */
	double seconds;     /* the longest such time on any node */
};

/* Most partners of a run that it shows something about. */
#define SETTLE_MAX_PAIRS RECORD_MAX_PARTNERS

/*
 * The partners that the run shows something about, the first ones first; returns how many, 0 where
 * a node on which the job shared has no data. All nodes of a job wait for the slowest one, so where
 * a partner was on some of the shared nodes only, what these show is not its doing alone: it is
 * left out below this share of them. So is one of several whose part no node knows.
 */
#define SETTLE_PAIR_NODES 0.9
int settle_pairs(const struct settle_job *job, const struct ledger_record *records, int count,
	struct settle_pair pair[SETTLE_MAX_PAIRS]);

/* The same for a job that still runs, by its records so far: nothing before each of its nodes has
 * told of some of its time, as a partner that only one of them has told of may be on no other. */
int settle_pairs_so_far(const struct settle_job *job, const struct ledger_record *records,
	int count, struct settle_pair pair[SETTLE_MAX_PAIRS]);
