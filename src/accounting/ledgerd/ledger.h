/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's database: records of nodes, settlements, and an append-only log of prices. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/ledgerd/ledger_schema.h"
#include "accounting/record/record.h"
#include "accounting/record/settlement.h"
#include "common/errmsg.h"

struct ledger;

/*
 * Opens the database, and makes the tables of an empty one. One process at a time may have it open
 * to write. A damaged file is set aside: it is renamed to PATH.damaged-TIME and a new one is begun;
 * set_aside[] then has that name, else "". A file with another schema is left alone. NULL with err.
 */
struct ledger *ledger_open(
	const char *path, char *set_aside, size_t set_aside_size, struct errmsg *err);
void ledger_close(struct ledger *l);

/* Whether SQLite has met damage in the open file. The next ledger_open() sets the file aside. */
bool ledger_damaged(const struct ledger *l);

/* How many files that were set aside still lie beside this one. */
int ledger_count_set_aside(const struct ledger *l);

/* A text that no other ledger has, so that nodes notice a new ledger. l owns it. */
const char *ledger_id(const struct ledger *l);

/*
 * Everything that is stored between the two calls is a group: one transaction, which
 * ledger_commit() brings to the disk with one sync. Reads in between see it. Until ledger_commit()
 * has returned 0, nobody may be told that anything is stored: a crash, a full disk or an error of
 * either call takes all of the group back. Both return 0, or -1 with err.
 */
int ledger_group(struct ledger *l, struct errmsg *err);
int ledger_commit(struct ledger *l, struct errmsg *err);

/*
 * Stores n records that came from an origin (origin.h), in one transaction, or in that of the
 * group. stored[] (may be NULL) says which records were news. A record that is not newer than the
 * stored one changes nothing, and nothing changes a final record. Records of one node from
 * different origins stand side by side. 0, or -1 with err: then none is stored.
 */
int ledger_put(struct ledger *l, const struct ledger_record *records, int n, const char *origin,
	bool *stored, struct errmsg *err);

/* A part of a run's nodes: those whose names come after `after` and not after `upto`, by bytes. */
struct ledger_part {
	const char *after; /* "" = from the first */
	const char *upto;  /* NULL = to the last */
};

/* Where a part of at most `count` nodes with records ends. Returns 1 and the name of its last node,
 * 0 where no other node comes after it, or -1 with err. */
int ledger_part_end(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	const char *after, int count, char node[64], struct errmsg *err);

/* Called once for each record that is newly left out. */
typedef void (*ledger_foreign_fn)(const char *node, const char *origin, void *arg);

/*
 * Believes slurmctld which nodes the run had and which addresses they have (origin_allowed()).
 * Records from elsewhere are left out of every later answer, until slurmctld says otherwise. With a
 * part (NULL: all nodes) only its nodes are checked, and the list need not have others. Returns how
 * many records are newly left out, or -1 with err. start_unix as below.
 */
int ledger_mark_foreign(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, const struct ledger_part *part, const json_t *nodes,
	ledger_foreign_fn fn, void *arg, struct errmsg *err);

/*
 * The records of a run, or of a part of its nodes, as they were stored: a JSON array, a new
 * reference; NULL with err. Of several records in one node's name it has the best one. start_unix
 * is slurmctld's start of the run, or 0: take all records. A record that began more than
 * LEDGER_CLOCK_SLACK_S before it is of an earlier job with the same id. A record that began nearer
 * to the start of another settled run is of that run: after a crash slurmctld may give the same job
 * id and restart again.
 */
json_t *ledger_records(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, const struct ledger_part *part, struct errmsg *err);

/* Kinds of events in the append-only log. */
#define LEDGER_SETTLED "settled"
#define LEDGER_RESTORED "restored"
#define LEDGER_CHANGED "changed"

/* The settlement of a run (start_unix 0: of the latest one) with its last change: 1 and *s, 0 where
 * there is none, -1 with err. */
int ledger_settlement(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct settlement *s, struct errmsg *err);

/*
 * Stores a settlement unless the run has one. The same transaction stores an event and marks the
 * run's records as settled. *stored is the run's settlement afterwards; by is the uid that asked.
 * Returns 1 where it was stored, 0 where the run had one, -1 with err.
 */
int ledger_settle(struct ledger *l, const struct settlement *s, uint32_t by,
	struct settlement *stored, struct errmsg *err);

/* The same for a settlement that the ledger has lost; the event is of another kind. */
int ledger_restore(struct ledger *l, const struct settlement *s, uint32_t by,
	struct settlement *stored, struct errmsg *err);

/*
 * Stores the price that an administrator (uid by) wants, and an event in the same transaction. s is
 * the settlement with that price. s->changes must be one more than the stored one's, so that nobody
 * undoes a change that they have not seen. Returns 1 where it was stored, 0 with err where it may
 * not follow the stored one, -1 with err.
 */
int ledger_change(struct ledger *l, const struct settlement *s, const char *reason, uint32_t by,
	int64_t now, struct errmsg *err);

/* The changes of a run, oldest first: JSON array of {"n","reason","old":{"charged","text"},
 * "settlement","state","time","by_uid"}, a new reference; NULL with err. */
json_t *ledger_changes(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct errmsg *err);

/* How far a change has come; stored as a number. */
enum ledger_change_state {
	LEDGER_CHANGE_WANTED, /* slurmctld has not begun to write it */
	LEDGER_CHANGE_TAKEN,  /* slurmctld has begun to write it */
	LEDGER_CHANGE_WRITTEN /* the accounting database shows it */
};

/* The last change of each run whose changes are not all written, the oldest first, at most max: an
 * array as ledger_changes() returns, without "time" and "by_uid"; NULL with err. */
json_t *ledger_waiting_changes(struct ledger *l, const char *cluster, int max, struct errmsg *err);

/* Moves the run's changes up to number s->changes on to a state. Returns 1, 0 where all of them had
 * that state or a later one, -1 with err. */
int ledger_change_state(struct ledger *l, const struct settlement *s,
	enum ledger_change_state state, struct errmsg *err);

/* JSON array of {"job","restart","start"}: runs with a final record and no settlement, oldest
 * first, at most max; a new reference, NULL with err. */
json_t *ledger_unsettled(struct ledger *l, const char *cluster, int max, struct errmsg *err);

/*
 * The prior of slow refill on nodes of a type (slow_prior.h): 1 and *prior, 0 where no job has told
 * anything, -1 with err. It changes where a run is settled, by its records that slurmctld vouches
 * for: so root of a node votes for users who have had jobs there, and for nobody else. At most
 * LEDGER_MAX_VOTES users count for a type, and LEDGER_MAX_TYPES types are kept: those that were
 * used last.
 */
#define LEDGER_MAX_VOTES 256
#define LEDGER_MAX_TYPES 64
int ledger_prior(
	struct ledger *l, const char *node_type, struct slow_prior *prior, struct errmsg *err);

/* Adds n to the stored count of what was turned away, by kind. 0, or -1 with err. */
int ledger_count_refusals(
	struct ledger *l, const char *kind, uint64_t n, int64_t now, struct errmsg *err);

/* {KIND:{"count","first","last"}}, times in seconds since 1970; a new reference, NULL with err. */
json_t *ledger_refusals(struct ledger *l, struct errmsg *err);

/* The number and the hash of the last event, 0 and "" without one. Whoever keeps them elsewhere can
 * show later that no event up to that one was changed. */
void ledger_head(const struct ledger *l, int64_t *id, char hash[LEDGER_HASH_SIZE]);

/* {"schema","records","settlements","events"}, a new reference, NULL with err. */
json_t *ledger_counts(struct ledger *l, struct errmsg *err);

/* Removes at most max records of settled runs that ended before before_unix; settlements and events
 * stay. Returns how many it removed, or -1 with err. */
int ledger_prune(struct ledger *l, int64_t before_unix, int max, struct errmsg *err);
