/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's database: records of nodes, settlements, and an append-only log of prices. */
#ifndef POPPA_ACCOUNTING_LEDGER_H
#define POPPA_ACCOUNTING_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record.h"
#include "accounting/settlement.h"
#include "common/errmsg.h"

/* Allowed difference of the clocks of a node and the controller, seconds (that of MUNGE). */
#define LEDGER_CLOCK_SLACK_S 300

struct ledger;

/*
 * Opens the database, makes or migrates its tables. One process at a time has it open. A file that
 * is damaged is set aside as PATH.damaged-TIME and a new one is begun; set_aside[] then has that
 * name, else "". A file of a later release is refused and left alone. NULL with err.
 */
struct ledger *ledger_open(
	const char *path, char *set_aside, size_t set_aside_size, struct errmsg *err);
void ledger_close(struct ledger *l);

/*
 * Stores n records in one transaction, which is on disk when it returns 0. stored[i] (may be NULL)
 * says whether record i was news; one that is not newer than what is there changes nothing, and
 * nothing changes a record that is final. -1 with err: none was stored.
 */
int ledger_put(struct ledger *l, const struct ledger_record *records, int n, bool *stored,
	struct errmsg *err);

/*
 * The records of a run, newly allocated (NULL for none). start_unix is slurmctld's start of the
 * run: records that are older by more than the slack are of an earlier job with the same id; 0
 * takes all. 0 or -1 with err.
 */
int ledger_records(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct ledger_record **records, int *count, struct errmsg *err);

/* The settlement of a run, with start_unix 0 its latest: 1 and *s, 0 where there is none, -1. */
int ledger_settlement(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct settlement *s, struct errmsg *err);

/*
 * Stores a settlement unless the run has one, and an event beside it. *stored is what is there
 * afterwards, on disk; by is who asked. 1 stored, 0 there was one, -1 with err.
 */
int ledger_settle(struct ledger *l, const struct settlement *s, uint32_t by,
	struct settlement *stored, struct errmsg *err);

/* JSON array of {"job","restart","start"}: runs with a final record and no settlement, oldest
 * first, at most max; a new reference, NULL with err. */
json_t *ledger_unsettled(struct ledger *l, const char *cluster, int max, struct errmsg *err);

/* {"schema","records","settlements","events"}, a new reference, NULL with err. */
json_t *ledger_counts(struct ledger *l, struct errmsg *err);

/*
 * Removes at most max records of runs that ended before before_unix and have their settlement;
 * settlements and events stay. The number removed, or -1 with err.
 */
int ledger_prune(struct ledger *l, int64_t before_unix, int max, struct errmsg *err);

#endif
