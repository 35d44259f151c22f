/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bill: one run of a job as sacct shows it, with the facts of its price in SystemComment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounting/record/settlement.h"
#include "common/errmsg.h"

/* The fields to ask sacct for, in this order. The job's name is last, because users choose it and
 * it may contain the delimiter. */
#define BILL_FIELDS                                                                                \
	"JobIDRaw,JobID,Cluster,User,Account,Partition,QOS,State,Submit,Start,End,ElapsedRaw,"     \
	"AllocTRES,ConsumedEnergyRaw,SystemComment,JobName"

enum bill_status {
	BILL_PLAIN,     /* not a co-located job */
	BILL_PENDING,   /* it has not started */
	BILL_RUNNING,   /* it has not ended */
	BILL_UNSETTLED, /* it has ended and there is no price yet */
	BILL_PRICED,    /* with a degradation */
	BILL_NO_DATA,   /* at the full price; facts->nodata says why */
	BILL_NEVER,     /* it has ended and never started */
};

/* The list that the bill is in owns the texts. They are safe to print (common/printable.h). */
struct bill {
	uint32_t job_id;
	const char *id; /* as users write it: 12, 12_3 or 12+1 */
	const char *cluster, *user, *account, *partition, *qos, *name, *state;
	const char *program;        /* the class of --colocate=class:NAME, else the job's name */
	const char *option;         /* of --colocate; NULL for a job that did not opt in */
	const char *apart;          /* whom it has left (striping/submit/apart.h); "" = nobody */
	int64_t submit, start, end; /* seconds since 1970, 0 = not yet; of the row's size where the
				       job was resized */
	int64_t run_start;          /* of the whole run, also where the job was resized */
	int64_t elapsed_s;
	uint64_t billing;     /* what is charged for each second: what Slurm now charges, or what
				 bills_what_if() has put there */
	uint64_t billing_now; /* what Slurm now charges */
	uint32_t cpus, nodes; /* that it was allocated; 0 = unknown */
	double energy_j;      /* NAN = unknown */
	enum bill_status status;
	const struct settlement *facts; /* the comment's facts about the price; all unknown without
					   a price, never NULL */
	const char *price;       /* the comment that they were read from; NULL without a price */
	bool never_started;      /* it has ended, and no node was ever allocated to it */
	bool earlier_size;       /* the row is of a resized job's size before the last one: raw and
				    charged are the size's, the other facts are the run's */
	const struct bill *last; /* of an earlier size with a price: the row of the last size, for
				    which that was made; else NULL */
};

struct bills {
	struct bill *bill;
	int count;
	int malformed;             /* rows left out */
	struct errmsg first;       /* why the first of them was */
	const struct bill **by_id; /* the same, by job id and then in the order of the rows */
	const struct settlement *no_facts; /* of a bill without a price */
	void *kept;                        /* private */
};

/*
 * Reads the "poppa" part of a SystemComment (docs/pricing.md): the comment form of a settlement
 * that has a raw price, a charge, and a degradation or a reason for none. Unknown keys are ignored.
 * 0, or -1 with an err that names the fact and *facts untouched.
 */
int bill_facts_parse(const char *text, struct settlement *facts, struct errmsg *err);

/* "priced", "no-data", ... */
const char *bill_status_name(enum bill_status status);

/* What Slurm would charge for each second without a discount. */
uint64_t bill_raw(const struct bill *bill);

/*
 * Reads what "sacct -X -P -o BILL_FIELDS" prints. It needs the header line and finds the
 * delimiter in it. Times are seconds since 1970 or local time as YYYY-MM-DDTHH:MM:SS. It frees
 * text, also on failure. A malformed row is counted and left out. 0, or -1 with err (no header, no
 * memory) and *bills empty. Free with bills_free().
 */
int bills_read(char *text, struct bills *bills, struct errmsg *err);
void bills_free(struct bills *bills);

/* The bill of a job that ran beside this one: a run of that job id whose time overlaps. NULL where
 * the list has none. */
const struct bill *bills_partner(
	const struct bills *bills, const struct bill *bill, uint32_t partner);

/* Whether the run had exactly one partner, which then caused all of its degradation. */
bool bill_has_one_partner(const struct bill *b);

/* The bill of its only partner, whose only partner it has been, too; NULL = there is none. */
const struct bill *bills_only_partner(const struct bills *bills, const struct bill *bill);

/* Whether the list has a later run of the same job id that is co-located. It reads only the rows of
 * that job id. */
bool bills_later_colocated(const struct bills *bills, const struct bill *bill);

/* What a report shows about a price (SETTLEMENT_REPORT or SETTLEMENT_CSV); a new reference. */
json_t *bill_price_json(const struct bill *b, enum settlement_form form);
