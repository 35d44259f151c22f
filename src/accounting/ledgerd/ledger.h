/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's database: records of nodes, settlements, and an append-only log of prices. */
#ifndef POPPA_ACCOUNTING_LEDGERD_LEDGER_H
#define POPPA_ACCOUNTING_LEDGERD_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/ledgerd/ledger_schema.h"
#include "accounting/record/record.h"
#include "accounting/record/settlement.h"
#include "common/errmsg.h"

struct ledger;

/*
 * Opens the database, makes or migrates its tables. One process at a time has it open. A file that
 * is damaged is set aside as PATH.damaged-TIME and a new one is begun; set_aside[] then has that
 * name, else "". A file of a later release is refused and left alone. NULL with err.
 */
struct ledger *ledger_open(
	const char *path, char *set_aside, size_t set_aside_size, struct errmsg *err);
void ledger_close(struct ledger *l);

/* Whether the file has turned out to be damaged at work: opened again, it is set aside. */
bool ledger_damaged(const struct ledger *l);

/* How many damaged databases lie beside this one, set aside by ledger_open() and not removed since.
 */
int ledger_set_aside(const struct ledger *l);

/* A text that no other ledger has: it tells a new one from one that was lost. Lives with l. */
const char *ledger_id(const struct ledger *l);

/*
 * From here on, everything that is stored goes to the disk together, in ledger_commit(); what is
 * read meanwhile is as if it were there. Both return 0, or -1 with err, and then nothing since
 * ledger_group() is stored.
 */
int ledger_group(struct ledger *l, struct errmsg *err);
int ledger_commit(struct ledger *l, struct errmsg *err);

/*
 * Stores n records that came from origin (accounting/origin.h) in one transaction, which is on disk
 * when it returns 0, or in the group's. stored[i] (may be NULL) says whether record i was news; one
 * that is not newer than what is there changes nothing, and nothing changes a record that is final.
 * Records of one node from different origins stand side by side. -1 with err: none was stored.
 */
int ledger_put(struct ledger *l, const struct ledger_record *records, int n, const char *origin,
	bool *stored, struct errmsg *err);

/* The nodes whose names come after one and not after another, in the order of their bytes. */
struct ledger_part {
	const char *after; /* "" = from the first */
	const char *upto;  /* NULL = to the last */
};

/* The name of the last of the next `count` nodes that there are records of: 1, 0 where they are not
 * more than that, -1 with err. */
int ledger_nth_node(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	const char *after, int count, char node[64], struct errmsg *err);

/* A record that is not a node's own, told once. */
typedef void (*ledger_foreign_fn)(const char *node, const char *origin, void *arg);

/*
 * Takes slurmctld's word for which nodes the run had and which addresses they have
 * (origin_allowed), and leaves records of others out of every later answer, until it says
 * otherwise. Of a part, only those of its nodes are looked at, and the others may be missing from
 * the list; NULL is all. The number of records that are newly left out, or -1 with err. start_unix
 * as below.
 */
int ledger_own(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, const struct ledger_part *part, const json_t *nodes,
	ledger_foreign_fn fn, void *arg, struct errmsg *err);

/*
 * The records of a run, or of a part of its nodes, newly allocated (NULL for none). start_unix is
 * slurmctld's start of the run: records that are older by more than the slack are of an earlier job
 * with the same id, and those that began nearer to another settled run are that one's (slurmctld
 * gives a run that it has forgotten in a crash the same number again); 0 takes all. 0 or -1 with
 * err.
 */
int ledger_records(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, const struct ledger_part *part, struct ledger_record **records,
	int *count, struct errmsg *err);

/* Kinds of events in the append-only log. */
#define LEDGER_SETTLED "settled"
#define LEDGER_RESTORED "restored"
#define LEDGER_CHANGED "changed"

/* The settlement of a run, with start_unix 0 its latest, as its last change has it: 1 and *s, 0
 * where there is none, -1. */
int ledger_settlement(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct settlement *s, struct errmsg *err);

/*
 * Stores a settlement unless the run has one, and an event beside it. *stored is what is there
 * afterwards, on disk; by is who asked. 1 stored, 0 there was one, -1 with err.
 */
int ledger_settle(struct ledger *l, const struct settlement *s, uint32_t by,
	struct settlement *stored, struct errmsg *err);

/* The same for a settlement that was lost and is known from elsewhere. */
int ledger_restore(struct ledger *l, const struct settlement *s, uint32_t by,
	struct settlement *stored, struct errmsg *err);

/*
 * Stores what an administrator (uid by) wants the run's price to be, with an event beside it. s is
 * the settlement as it is to be; s->changes is one more than what is there, so that nobody undoes
 * what they have not seen. 1 stored, 0 with err where it may not follow what is there, -1 with err.
 */
int ledger_change(struct ledger *l, const struct settlement *s, const char *reason, uint32_t by,
	int64_t now, struct errmsg *err);

/* The changes of a run, oldest first: JSON array of {"n","reason","old":{"charged","text"},
 * "settlement","state","time","by_uid"}, a new reference; NULL with err. */
json_t *ledger_changes(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct errmsg *err);

/* How far a change has come. */
enum ledger_change_state {
	LEDGER_CHANGE_WANTED,
	LEDGER_CHANGE_TAKEN,  /* slurmctld has begun to write it */
	LEDGER_CHANGE_WRITTEN /* the accounting database shows it */
};

/* The last change of each run whose changes are not all written, oldest first, at most max, as
 * above; NULL with err. */
json_t *ledger_waiting_changes(struct ledger *l, const char *cluster, int max, struct errmsg *err);

/* Moves the run's changes up to s->changes on: 1, 0 where they were there already, -1 with err. */
int ledger_change_state(struct ledger *l, const struct settlement *s,
	enum ledger_change_state state, struct errmsg *err);

/* JSON array of {"job","restart","start"}: runs with a final record and no settlement, oldest
 * first, at most max; a new reference, NULL with err. */
json_t *ledger_unsettled(struct ledger *l, const char *cluster, int max, struct errmsg *err);

/* Adds to the count of what was turned away, by kind, for good. 0, or -1 with err. */
int ledger_count_refusals(
	struct ledger *l, const char *kind, uint64_t n, int64_t now, struct errmsg *err);

/* {KIND:{"count","first","last"}}, times in seconds since 1970; a new reference, NULL with err. */
json_t *ledger_refusals(struct ledger *l, struct errmsg *err);

/* The number and the hash of the last event: who keeps them elsewhere can prove later that nothing
 * before it was changed. 0 and "" where there is none. */
void ledger_head(const struct ledger *l, int64_t *id, char hash[LEDGER_HASH_SIZE]);

/* {"schema","records","settlements","events"}, a new reference, NULL with err. */
json_t *ledger_counts(struct ledger *l, struct errmsg *err);

/*
 * Removes at most max records of runs that ended before before_unix and have their settlement;
 * settlements and events stay. The number removed, or -1 with err.
 */
int ledger_prune(struct ledger *l, int64_t before_unix, int max, struct errmsg *err);

#endif
