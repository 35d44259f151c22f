/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the ledger's tables, and the hashes of its events. */
#include "accounting/ledgerd/ledger_schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gcrypt.h>
#include <jansson.h>

#include "accounting/ledgerd/ledger_columns.h"
#include "accounting/record/record.h"
#include "accounting/record/settlement.h"

#define BUSY_MS 5000

/*
 * The tables of schema 3. body is the JSON of the whole thing; the columns beside it are what the
 * queries select by.
 *
 * record: origin is the address that a record came from, so that one in a node's name from
 * elsewhere stands beside the node's own and not in its place; '' = not known. foreign_node:
 * slurmctld says that it is not of a node of the job. settled: the run has its price.
 */
static const char create_record[] =
	"CREATE TABLE record ({k:$ # NOT NULL}, origin TEXT NOT NULL, {n:$ # NOT NULL},"
	" {f:$ # NOT NULL}, settled INTEGER NOT NULL, foreign_node INTEGER NOT NULL,"
	" body TEXT NOT NULL, PRIMARY KEY ({k:$}, origin)) WITHOUT ROWID;"
	"CREATE INDEX record_waiting ON record (cluster, start)"
	" WHERE final AND NOT settled AND NOT foreign_node;"
	"CREATE INDEX record_start ON record (start);";

/*
 * change: prices that an administrator made; state 0 = slurmctld is to learn of it, 1 = it has
 * begun to write it, 2 = it is everywhere (enum ledger_change_state). event: the append-only log,
 * chained by hashes. refusal: how much was turned away. meta: 'id' tells this ledger from one that
 * was lost.
 */
static const char create_others[] =
	"CREATE TABLE settlement ( {k:$ # NOT NULL}, {f:$ # NOT NULL}, body TEXT NOT NULL,"
	" PRIMARY KEY ({k:$})) WITHOUT ROWID;"
	"CREATE INDEX settlement_start ON settlement (cluster, start);"
	"CREATE TABLE change ("
	" cluster TEXT NOT NULL, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
	" start INTEGER NOT NULL, n INTEGER NOT NULL, unix INTEGER NOT NULL,"
	" by_uid INTEGER NOT NULL, state INTEGER NOT NULL, body TEXT NOT NULL,"
	" PRIMARY KEY (cluster, job, restart, start, n)) WITHOUT ROWID;"
	"CREATE INDEX change_waiting ON change (cluster, unix) WHERE state < 2;"
	"CREATE TABLE event ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT, unix INTEGER NOT NULL, kind TEXT NOT NULL,"
	" cluster TEXT NOT NULL, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
	" by_uid INTEGER NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL DEFAULT '');"
	"CREATE INDEX event_run ON event (cluster, job, restart);"
	"CREATE TABLE refusal (kind TEXT PRIMARY KEY, count INTEGER NOT NULL,"
	" first INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"INSERT INTO meta VALUES ('id', lower(hex(randomblob(16))));"
	"CREATE TRIGGER event_kept BEFORE DELETE ON event"
	" BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;"
	"CREATE TRIGGER event_unchanged BEFORE UPDATE ON event"
	" BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;"
	"CREATE TRIGGER settlement_kept BEFORE DELETE ON settlement"
	" BEGIN SELECT RAISE(ABORT, 'settlements are kept'); END;"
	"CREATE TRIGGER settlement_unchanged BEFORE UPDATE ON settlement"
	" BEGIN SELECT RAISE(ABORT, 'settlements are kept'); END;"
	"CREATE TRIGGER change_kept BEFORE DELETE ON change"
	" BEGIN SELECT RAISE(ABORT, 'changes are kept'); END;"
	"CREATE TRIGGER change_unchanged BEFORE UPDATE OF"
	" cluster, job, restart, start, n, unix, by_uid, body ON change"
	" BEGIN SELECT RAISE(ABORT, 'changes are kept'); END;";

int ledger_event_hash(
	const char *previous, const struct ledger_event *e, char hash[LEDGER_HASH_SIZE])
{
	json_t *json = json_pack("[s, I, I, s, s, I, I, I, s]", previous, (json_int_t)e->id,
		(json_int_t)e->unix_s, e->kind, e->cluster, (json_int_t)e->job,
		(json_int_t)e->restart, (json_int_t)e->by_uid, e->body);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	unsigned char digest[32];

	json_decref(json);
	if (!text)
		return -1;
	/* libgcrypt wants to be asked for its version before anything else. */
	gcry_check_version(NULL);
	gcry_md_hash_buffer(GCRY_MD_SHA256, digest, text, strlen(text));
	free(text);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hash + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

static int read_version(sqlite3 *db, int64_t *version)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*version = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int check_one(void *arg, int columns, char **text, char **names)
{
	bool *sound = arg;

	(void)columns;
	(void)names;
	*sound = text[0] && !strcmp(text[0], "ok");
	return 0;
}

/* All of it or nothing: whoever closes the database after an error takes it back. */
static int create_tables(sqlite3 *db)
{
	char *record = columns_sql(create_record, &record_fields);
	char *others = columns_sql(create_others, &settlement_fields);
	char *all =
		record && others
			? sqlite3_mprintf("BEGIN IMMEDIATE; %s%s PRAGMA user_version = %d; COMMIT",
				  record, others, LEDGER_SCHEMA)
			: NULL;
	int rc = all ? sqlite3_exec(db, all, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(record);
	sqlite3_free(others);
	sqlite3_free(all);
	return rc;
}

int ledger_schema_apply(sqlite3 *db, struct errmsg *err)
{
	bool sound = false;
	int64_t version = 0;
	int rc;

	sqlite3_busy_timeout(db, BUSY_MS);
	/* FULL syncs the log at each commit: what was acknowledged survives a power cut. */
	rc = sqlite3_exec(
		db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA quick_check(1)", check_one, &sound, NULL);
	if (rc == SQLITE_OK && !sound)
		rc = SQLITE_CORRUPT;
	if (rc == SQLITE_OK)
		rc = read_version(db, &version);
	if (rc == SQLITE_OK && version && version != LEDGER_SCHEMA) {
		errmsg_set(err,
			"the ledger has schema %lld and this release knows up to %d: "
			"run the release that wrote it, or a later one",
			(long long)version, LEDGER_SCHEMA);
		return SQLITE_MISMATCH;
	}
	if (rc == SQLITE_OK && !version)
		rc = create_tables(db);
	if (rc != SQLITE_OK)
		errmsg_set(err, "%s", sqlite3_errmsg(db));
	return rc;
}
