/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the ledger: the open database, its statements and its transactions. */
#pragma once

#include <sqlite3.h>

#include "accounting/ledgerd/ledger.h"

enum statement {
	S_BEGIN,
	S_COMMIT,
	S_ROLLBACK,
	S_SAVE,
	S_RELEASE,
	S_BACK,
	S_PUT,
	S_RECORDS,
	S_SETTLE,
	S_SETTLEMENT,
	S_SETTLED,
	S_TOLD,
	S_VOTE,
	S_VOTES,
	S_SET_VOTE,
	S_DROP_VOTE,
	S_PRIOR,
	S_SET_PRIOR,
	S_DROP_PRIOR,
	S_ORPHANS,
	S_EVENT,
	S_LAST_EVENT,
	S_ORIGINS,
	S_PART_END,
	S_FOREIGN,
	S_CHANGE,
	S_CHANGED,
	S_WAITING,
	S_STATE,
	S_REFUSED,
	S_REFUSALS,
	S_ID,
	S_UNSETTLED,
	S_COUNTS,
	S_PRUNE,
	S_COUNT
};

/*
 * One thread uses it. Outside of a group each call that stores is a transaction. In a group it is a
 * savepoint of the group's transaction: an error takes back that call alone.
 *
 * SQLite itself may take the whole transaction back, for example on a full disk. The group is then
 * lost: every further call fails until ledger_commit() has failed, too, so that no reply of the
 * group says that something is stored.
 */
struct ledger {
	sqlite3 *db;
	sqlite3_stmt *st[S_COUNT];
	bool grouped; /* between ledger_group() and ledger_commit() */
	bool damaged; /* SQLite has met a damaged page */
	/* The last event, also one that the open transaction has appended. It is read from the file
	 * again where something was taken back. */
	int64_t last_event;
	char last_hash[LEDGER_HASH_SIZE];
	char id[64];
};

/* Returns -1; err says what could not be done and quotes SQLite. Sets l->damaged. */
int ledger_db_failed(struct ledger *l, const char *what, struct errmsg *err);

/* Runs a statement that gives no rows and clears its parameters; 0, or -1 with err. */
int ledger_run(struct ledger *l, enum statement s, const char *what, struct errmsg *err);

/* Binds cluster, job and restart to the parameters first, first + 1 and first + 2. */
void ledger_bind_run(
	sqlite3_stmt *st, const char *cluster, uint32_t job_id, uint32_t restart, int first);

/* The JSON of a body column, a new reference, or NULL with err. */
json_t *ledger_column_json(sqlite3_stmt *st, int column, struct errmsg *err);

/* Within a transaction, before the run's records are marked as settled: adds what they tell of slow
 * refill to its user's votes, and works out the priors anew. 0, or -1 with err. */
int ledger_learn(struct ledger *l, const struct settlement *s, struct errmsg *err);

/* Begin and end a transaction, or in a group a savepoint. Both return 0, or -1 with err. Where
 * ledger_end() fails, it has taken back what was stored since ledger_begin(). */
int ledger_begin(struct ledger *l, struct errmsg *err);
int ledger_end(struct ledger *l, struct errmsg *err);
/* Ends the transaction, and takes back what was stored since ledger_begin(). */
void ledger_take_back(struct ledger *l);
