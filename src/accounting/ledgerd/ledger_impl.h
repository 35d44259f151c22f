/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the ledger share: the open database, its statements and transactions. */
#ifndef POPPA_ACCOUNTING_LEDGERD_LEDGER_IMPL_H
#define POPPA_ACCOUNTING_LEDGERD_LEDGER_IMPL_H

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
	S_EVENT,
	S_LAST_EVENT,
	S_ORIGINS,
	S_NTH_NODE,
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

struct ledger {
	sqlite3 *db;
	sqlite3_stmt *st[S_COUNT];
	bool grouped; /* transactions are parts of one that ledger_commit() ends */
	bool damaged; /* SQLite has met a page that cannot be */
	int64_t last_event;
	char last_hash[LEDGER_HASH_SIZE];
	char id[64];
};

/* -1, with err saying what could not be done and what SQLite says; notes damage. */
int ledger_db_failed(struct ledger *l, const char *what, struct errmsg *err);

/* Runs a statement that gives no rows; 0, or -1 with err. */
int ledger_run(struct ledger *l, enum statement s, const char *what, struct errmsg *err);

/* Binds the three columns that name a run, from the first on. */
void ledger_bind_run(
	sqlite3_stmt *st, const char *cluster, uint32_t job_id, uint32_t restart, int first);

/* The JSON of a body column, a new reference, or NULL with err. */
json_t *ledger_column_json(sqlite3_stmt *st, int column, struct errmsg *err);

/*
 * A transaction, or in a group a part of its transaction. Both return 0, or -1 with err; what
 * ledger_end() fails for is taken back.
 */
int ledger_begin(struct ledger *l, struct errmsg *err);
int ledger_end(struct ledger *l, struct errmsg *err);
/* Ends it with nothing stored. */
void ledger_take_back(struct ledger *l);

#endif
