/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds bills up: who was charged what, what programs cost each other, and who has no data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/bill/bill.h"

/* What a line of a summary stands for. */
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

/* Amounts are billing times seconds, as sreport -T billing adds them up. A job counts with all of
 * its time so far, also while it runs. */
struct summary_sums {
	int jobs, priced, no_data, unsettled, open; /* open: jobs that have not ended */
	uint64_t elapsed_s, raw, charged;
	double priced_s; /* time of the priced jobs */
	double lost_s;   /* part of it that they lost to co-runners: D */
	double kept_s;   /* part of it that they would have taken alone on their lane: (1-D)(1-Z) */
};

struct summary_group {
	char *name;
	struct summary_sums sums;
	const struct bill **bill; /* its bills, not owned */
	int count;
};

/* Least, quartiles and most. */
struct summary_spread {
	double at[5];
};

/*
 * Runs of the same name. Prices are in units of what the run would have cost alone on its lane,
 * raw * (1-Z) * (1-D), as figure 3.12 of the thesis has them.
 */
struct summary_program {
	const struct summary_group *group;
	int priced;
	struct summary_spread practice; /* what Slurm counts: 1 / ((1-Z)(1-D)) */
	struct summary_spread thesis;   /* the thesis' policy: 1-D */
	struct summary_spread charged;
	double caused_s; /* progress that its partners lost to it, seconds */
	double beside_s; /* for how long they ran beside it, seconds */
};

/* Runs that had one partner, by program (figure 3.11 of the thesis). */
struct summary_pair {
	int program, partner; /* indices of programs; partner -1: not in the list of bills */
	int runs;
	double beside_s, lost_s; /* time with the partner, and progress lost in it */
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
	/* A comparison with compact runs: the means of equations 2.2 and 2.3 of the thesis over
	 * `compared` pairs of runs. A run is compared where several jobs of the same name and user
	 * ran without --colocate, all took about as long, and their energy is known. */
	int compared;
	double stp, see;
};

/* 0, or -1 without memory; *s then needs no summary_free(). bills must live as long as *s. */
int summary_make(const struct bills *bills, enum summary_by by, struct summary *s);
void summary_free(struct summary *s);

/* NAN where there is nothing to divide by. */
double summary_discount(const struct summary_sums *sums);    /* of raw, a fraction */
double summary_degradation(const struct summary_sums *sums); /* mean of the priced time */
/* Mean of S_i/M_i (thesis, equation 2.2) with a run alone on the same lane as S_i. */
double summary_stp(const struct summary_sums *sums);

/* "user", ...; and its value, SUMMARY_KINDS for an unknown name. */
const char *summary_by_name(enum summary_by by);
enum summary_by summary_by_parse(const char *name);
