/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bill: one run of a job as sacct shows it, with the facts of its price in SystemComment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounting/record/settlement.h"
#include "common/errmsg.h"

/* The fields to ask sacct for, in this order. The job's name is last, because users choose it:
 * whatever it contains, the fields before it stay what they are. */
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
};

/* Texts belong to the list that the bill is in; they are fit to be printed (common/printable.h). */
struct bill {
	uint32_t job_id;
	const char *id; /* as users write it: 12, 12_3 or 12+1 */
	const char *cluster, *user, *account, *partition, *qos, *name, *state;
	const char *program;        /* the class of --colocate=class:NAME, else the job's name */
	const char *option;         /* of --colocate; NULL for a job that did not opt in */
	int64_t submit, start, end; /* seconds since 1970, 0 = not yet; of the size that the row is
				       of, where the job was resized */
	int64_t run_start;          /* of the run, also where the job was resized */
	int64_t elapsed_s;
	uint64_t billing; /* what Slurm charges now for each second */
	double energy_j;  /* NAN = unknown */
	enum bill_status status;
	const struct settlement *facts; /* what the comment tells of the price; all unknown without
					   a price, never NULL */
	const char *price; /* the comment that they were read from; NULL without a price */
	bool earlier_size; /* the row is of a size of a resized job before its last one: facts are
			      the run's, but for raw and charged, which are the size's */
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
 * that has a raw price, a charge, and a degradation or a reason for none. 0, or -1 with err that
 * names the fact and *facts untouched. Keys that are not known are passed over.
 */
int bill_facts_parse(const char *text, struct settlement *facts, struct errmsg *err);

/* "priced", "no-data", ... */
const char *bill_status_name(enum bill_status status);

/* What Slurm would charge for each second without a discount. */
uint64_t bill_raw(const struct bill *bill);

/*
 * Reads what "sacct -X -P -o BILL_FIELDS" prints. The header line must be there; it tells the
 * delimiter. Times are seconds since 1970 or local time as YYYY-MM-DDTHH:MM:SS. Takes over text,
 * which is malloc'ed, also on failure. A malformed row is counted and left out. 0, or -1 with err
 * (no header, no memory) and *bills empty. Free with bills_free().
 */
int bills_read(char *text, struct bills *bills, struct errmsg *err);
void bills_free(struct bills *bills);

/* The bill of the job that ran beside this one, as far as it is in the list: the run of that job
 * id whose time overlaps it. NULL where there is none. */
const struct bill *bills_partner(
	const struct bills *bills, const struct bill *bill, uint32_t partner);

/* Whether a later run of the same job id is in the list and is known to be co-located. The time
 * that this takes does not grow with the number of other jobs. */
bool bills_later_colocated(const struct bills *bills, const struct bill *bill);

/* What a report tells of a job's price, as SETTLEMENT_REPORT or SETTLEMENT_CSV has it; likewise. */
json_t *bill_price_json(const struct bill *b, enum settlement_form form);
