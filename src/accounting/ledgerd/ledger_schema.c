/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the ledger's tables, and the hashes of its events. */
#include "accounting/ledgerd/ledger_schema.h"

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
 * The tables of schema 4. The column body has the JSON of the whole object. The queries select by
 * the other columns.
 *
 * record: origin is the address that the record came from, '' = not known. A record that somebody
 * else sends in a node's name thus stands beside the node's own record and does not replace it.
 * foreign_node: slurmctld says that the record is not of a node of the job. settled: the run has
 * its price.
 */
static const char create_record[] =
	"CREATE TABLE record ({k:$ # NOT NULL}, origin TEXT NOT NULL, {n:$ # NOT NULL},"
	" {f:$ # NOT NULL}, settled INTEGER NOT NULL, foreign_node INTEGER NOT NULL,"
	" body TEXT NOT NULL, PRIMARY KEY ({k:$}, origin)) WITHOUT ROWID;"
	"CREATE INDEX record_waiting ON record (cluster, start)"
	" WHERE final AND NOT settled AND NOT foreign_node;"
	"CREATE INDEX record_start ON record (start);";

/*
 * change: prices that an administrator made; state is an enum ledger_change_state. event: the
 * append-only log, chained by hashes. refusal: how many requests were turned away, by kind. meta:
 * 'id' is the ledger's identity. slow_vote: a struct slow_vote for each user and type of nodes;
 * slow_prior: what follows from them. used: seconds since 1970.
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
	"CREATE TABLE slow_vote (node_type TEXT NOT NULL, uid INTEGER NOT NULL,"
	" none REAL NOT NULL, narrow REAL NOT NULL, wide REAL NOT NULL, told REAL NOT NULL,"
	" used INTEGER NOT NULL, PRIMARY KEY (node_type, uid)) WITHOUT ROWID;"
	"CREATE TABLE slow_prior (node_type TEXT PRIMARY KEY, none REAL NOT NULL,"
	" narrow REAL NOT NULL, wide REAL NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;"
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
	/* A program must ask libgcrypt for its version before it calls anything else. */
	gcry_check_version(NULL);
	gcry_md_hash_buffer(GCRY_MD_SHA256, digest, text, strlen(text));
	free(text);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hash + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

#define VALUE_SIZE 32

/* Copies the first value of a row, as text, to arg[VALUE_SIZE]. */
static int take_value(void *arg, int columns, char **text, char **names)
{
	(void)columns;
	(void)names;
	snprintf(arg, VALUE_SIZE, "%s", text[0] ? text[0] : "");
	return 0;
}

/* Makes all tables or none: after an error the caller closes the database, which undoes the rest.
 */
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
	char sound[VALUE_SIZE] = "", version[VALUE_SIZE] = "";
	int64_t schema;
	int rc;

	sqlite3_busy_timeout(db, BUSY_MS);
	/* FULL syncs the log at each commit: what was acknowledged survives a power cut. */
	rc = sqlite3_exec(
		db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA quick_check(1)", take_value, sound, NULL);
	if (rc == SQLITE_OK && strcmp(sound, "ok"))
		rc = SQLITE_CORRUPT;
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA user_version", take_value, version, NULL);
	schema = strtoll(version, NULL, 10);
	if (rc == SQLITE_OK && schema && schema != LEDGER_SCHEMA) {
		errmsg_set(err,
			"the ledger has schema %lld and this release knows up to %d: "
			"run the release that wrote it, or a later one",
			(long long)schema, LEDGER_SCHEMA);
		return SQLITE_MISMATCH;
	}
	if (rc == SQLITE_OK && !schema)
		rc = create_tables(db);
	if (rc != SQLITE_OK)
		errmsg_set(err, "%s", sqlite3_errmsg(db));
	return rc;
}
