/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds bills up: who was charged what, what programs cost each other, and who has no data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/bill/bill.h"
#include "accounting/bill/compact.h"
#include "accounting/bill/gains.h"
#include "accounting/bill/spread.h"

/* By what the bills are grouped: one line of the summary for each. */
enum summary_by {
	SUMMARY_JOB,
	SUMMARY_USER,
	SUMMARY_ACCOUNT,
	SUMMARY_PARTITION,
	SUMMARY_QOS,
	SUMMARY_PROGRAM,
	SUMMARY_DAY, /* local day on which the run ended */
	SUMMARY_KINDS
};

/* Amounts are billing times seconds, as sreport -T billing adds them up. A running job counts with
 * its time so far. */
struct summary_sums {
	int jobs, priced, no_data, unsettled, open; /* open: jobs that have not ended */
	uint64_t elapsed_s, raw, charged;
	uint64_t charged_now; /* charged, before bills_what_if() */
	double priced_s;      /* time of the priced jobs */
	double lost_s;        /* the part of it that they lost to co-runners: D */
	double kept_s; /* the part that they would have needed alone on their lane: (1-D)(1-Z) */
	int compared;  /* jobs whose progress against plain runs is known without a doubt */
	double compared_cpu_s; /* their CPU seconds */
	double plain_cpu_s;    /* those that plain runs of their work take */
	int node_jobs;         /* jobs of which it is known how many node seconds they saved */
	double saved_node_s;   /* against compact placement (compact_saved_node_s()) */
};

struct summary_group {
	char *name;
	struct summary_sums sums;
	const struct bill **bill; /* its bills, not owned */
	int count;
};

/* Runs of one program. Prices are in units of what the run would have cost alone on its lane,
 * raw * (1-Z) * (1-D), as in figure 3.12 of the thesis. */
struct summary_program {
	const struct summary_group *group;
	int priced;
	struct spread practice; /* what Slurm counts: 1 / ((1-Z)(1-D)) */
	struct spread thesis;   /* the thesis' policy: 1-D */
	struct spread charged;
	double caused_s; /* seconds that its partners lost to it */
	double beside_s; /* seconds that they ran beside it */
};

/* Runs that had one partner, by program (figure 3.11 of the thesis). */
struct summary_pair {
	int program, partner; /* indices of programs; partner -1: not in the list of bills */
	int runs;
	double beside_s, lost_s; /* seconds with the partner, and lost in that time */
};

struct summary_slot {
	int64_t from; /* seconds since 1970 */
	int jobs;
	uint64_t raw, charged;
};

struct summary_reason {
	const char *word;
	int jobs;
	uint64_t charged;
};

struct summary {
	struct summary_sums total;
	int others;          /* jobs that are not co-located */
	int64_t first, last; /* the earliest start and the latest end, 0 without jobs */
	struct summary_group *groups;
	int group_count; /* by amount, falling; days and jobs by time */
	struct summary_group *by_program;
	struct summary_program *programs; /* by name */
	int program_count;
	struct summary_pair *pairs; /* by program, then partner */
	int pair_count;
	struct summary_slot *slots; /* without gaps, by the end of the runs */
	int slot_count;
	int64_t slot_s;
	struct summary_reason *reasons; /* by jobs, falling */
	int reason_count;
	struct compact *compact;    /* of each of the bills, in their order */
	int doubts[COMPACT_DOUBTS]; /* of the co-located jobs that have run, by their doubt */
	struct gains gains;
};

/* Returns 0, or -1 without memory and nothing in *s to free. bills must live as long as *s. */
int summary_make(const struct bills *bills, enum summary_by by, struct summary *s);
void summary_free(struct summary *s);

/* The next four are NAN where there is nothing to divide by. */
double summary_discount(const struct summary_sums *sums);    /* of raw, a fraction */
double summary_degradation(const struct summary_sums *sums); /* mean of the priced time */
/* Mean of S_i/M_i (thesis, equation 2.2), where S_i is a run alone on the same lane. */
double summary_stp(const struct summary_sums *sums);
/* The same against plain runs (accounting/bill/compact.h), where each job counts by the CPU seconds
 * that it had: what makes as much as one job after the other on whole nodes has 1. */
double summary_compact_stp(const struct summary_sums *sums);

/* The name ("user", ...), and the value of a name: SUMMARY_KINDS for an unknown one. */
const char *summary_by_name(enum summary_by by);
enum summary_by summary_by_parse(const char *name);
