/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes and migrates the ledger's tables. */
#include "accounting/ledgerd/ledger_schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gcrypt.h>
#include <jansson.h>

#define BUSY_MS 5000

/* Works through the rows where SQL alone cannot; SQLITE_OK or an error. */
typedef int (*step_fn)(sqlite3 *db);

static int chain_events(sqlite3 *db);

/*
 * One entry per schema version; PRAGMA user_version counts those that have run. Never edit one that
 * has been released: append. body is the JSON of the whole thing, the columns beside it are what
 * the queries select by.
 */
static const struct {
	const char *sql;
	step_fn step;
	const char *after;
} migrations[] = {
	{"CREATE TABLE record ("
	 " cluster TEXT NOT NULL, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
	 " node TEXT NOT NULL, start INTEGER NOT NULL, seq INTEGER NOT NULL,"
	 " final INTEGER NOT NULL, uid INTEGER NOT NULL, body TEXT NOT NULL,"
	 " PRIMARY KEY (cluster, job, restart, node, start)) WITHOUT ROWID;"
	 "CREATE TABLE settlement ("
	 " cluster TEXT NOT NULL, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
	 " start INTEGER NOT NULL, finish INTEGER NOT NULL, uid INTEGER NOT NULL,"
	 " raw INTEGER NOT NULL, charged INTEGER NOT NULL, body TEXT NOT NULL,"
	 " PRIMARY KEY (cluster, job, restart, start)) WITHOUT ROWID;"
	 "CREATE TABLE event ("
	 " id INTEGER PRIMARY KEY AUTOINCREMENT, unix INTEGER NOT NULL, kind TEXT NOT NULL,"
	 " cluster TEXT NOT NULL, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
	 " by_uid INTEGER NOT NULL, body TEXT NOT NULL);"
	 "CREATE INDEX record_final ON record (cluster, start) WHERE final;"
	 "CREATE INDEX settlement_start ON settlement (cluster, start);"
	 "CREATE TRIGGER event_kept BEFORE DELETE ON event"
	 " BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;"
	 "CREATE TRIGGER event_unchanged BEFORE UPDATE ON event"
	 " BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;",
		NULL, ""},
	{"CREATE INDEX event_run ON event (cluster, job, restart);"
	 "CREATE INDEX record_start ON record (start);",
		NULL, ""},
	/*
	 * origin: the address that a record came from, so that one in a node's name from elsewhere
	 * stands beside the node's own and not in its place; '' = not known. foreign_node:
	 * slurmctld says that it is not of a node of the job. settled: the run has its price.
	 * change: prices that an administrator made; state 0 = slurmctld is to learn of it, 1 = it
	 * has begun to write it, 2 = it is everywhere. refusal: what was turned away. meta: 'id'
	 * tells this ledger from one that was lost.
	 */
	{"CREATE TABLE record3 ("
	 " cluster TEXT NOT NULL, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
	 " node TEXT NOT NULL, start INTEGER NOT NULL, origin TEXT NOT NULL,"
	 " seq INTEGER NOT NULL, final INTEGER NOT NULL, uid INTEGER NOT NULL,"
	 " settled INTEGER NOT NULL, foreign_node INTEGER NOT NULL, body TEXT NOT NULL,"
	 " PRIMARY KEY (cluster, job, restart, node, start, origin)) WITHOUT ROWID;"
	 "INSERT INTO record3 SELECT cluster, job, restart, node, start, '', seq, final, uid,"
	 " EXISTS (SELECT 1 FROM settlement s WHERE s.cluster = r.cluster AND s.job = r.job"
	 " AND s.restart = r.restart AND r.start BETWEEN s.start - 300 AND s.finish + 300),"
	 " 0, body FROM record r;"
	 "DROP TABLE record;"
	 "ALTER TABLE record3 RENAME TO record;"
	 "CREATE INDEX record_waiting ON record (cluster, start)"
	 " WHERE final AND NOT settled AND NOT foreign_node;"
	 "CREATE INDEX record_start ON record (start);"
	 "CREATE TABLE change ("
	 " cluster TEXT NOT NULL, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
	 " start INTEGER NOT NULL, n INTEGER NOT NULL, unix INTEGER NOT NULL,"
	 " by_uid INTEGER NOT NULL, state INTEGER NOT NULL, body TEXT NOT NULL,"
	 " PRIMARY KEY (cluster, job, restart, start, n)) WITHOUT ROWID;"
	 "CREATE INDEX change_waiting ON change (cluster, unix) WHERE state < 2;"
	 "CREATE TABLE refusal (kind TEXT PRIMARY KEY, count INTEGER NOT NULL,"
	 " first INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;"
	 "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	 "INSERT INTO meta VALUES ('id', lower(hex(randomblob(16))));"
	 "DROP TRIGGER event_unchanged;"
	 "ALTER TABLE event ADD COLUMN hash TEXT NOT NULL DEFAULT '';",
		chain_events,
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
		" BEGIN SELECT RAISE(ABORT, 'changes are kept'); END;"},
};
#define SCHEMA ((int)(sizeof(migrations) / sizeof(migrations[0])))

const int ledger_schema_version = SCHEMA;

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
	/* Self-initialising; the check satisfies its demand to be asked first. */
	gcry_check_version(NULL);
	gcry_md_hash_buffer(GCRY_MD_SHA256, digest, text, strlen(text));
	free(text);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hash + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

static const char *column_text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return text ? text : "";
}

struct ledger_event ledger_event_of_row(sqlite3_stmt *st)
{
	return (struct ledger_event){
		.id = sqlite3_column_int64(st, 0),
		.unix_s = sqlite3_column_int64(st, 1),
		.kind = column_text(st, 2),
		.cluster = column_text(st, 3),
		.job = sqlite3_column_int64(st, 4),
		.restart = sqlite3_column_int64(st, 5),
		.by_uid = sqlite3_column_int64(st, 6),
		.body = column_text(st, 7),
	};
}

/* Gives every event of an older schema its hash. */
static int chain_events(sqlite3 *db)
{
	char hash[LEDGER_HASH_SIZE] = "";
	sqlite3_stmt *all = NULL, *set = NULL;
	int rc = sqlite3_prepare_v2(db,
		"SELECT id, unix, kind, cluster, job, restart, by_uid, body FROM event ORDER BY id",
		-1, &all, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(
			db, "UPDATE event SET hash = ?1 WHERE id = ?2", -1, &set, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(all)) == SQLITE_ROW) {
		struct ledger_event e = ledger_event_of_row(all);
		char previous[LEDGER_HASH_SIZE];

		memcpy(previous, hash, sizeof(previous));
		if (ledger_event_hash(previous, &e, hash)) {
			rc = SQLITE_NOMEM;
			break;
		}
		sqlite3_bind_text(set, 1, hash, -1, SQLITE_STATIC);
		sqlite3_bind_int64(set, 2, e.id);
		rc = sqlite3_step(set) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db);
		sqlite3_reset(set);
	}
	sqlite3_finalize(all);
	sqlite3_finalize(set);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
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
static int migrate(sqlite3 *db, int from)
{
	char *end = sqlite3_mprintf("PRAGMA user_version = %d; COMMIT", from + 1);
	int rc = end ? sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, migrations[from].sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK && migrations[from].step)
		rc = migrations[from].step(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, migrations[from].after, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, end, NULL, NULL, NULL);
	sqlite3_free(end);
	return rc;
}

int ledger_schema_apply(sqlite3 *db, struct errmsg *err)
{
	bool sound = false;
	int64_t version = 0;
	int rc;

	sqlite3_busy_timeout(db, BUSY_MS);
	/* What was acknowledged survives a power cut: FULL syncs the log at each commit. */
	rc = sqlite3_exec(
		db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA quick_check(1)", check_one, &sound, NULL);
	if (rc == SQLITE_OK && !sound)
		rc = SQLITE_CORRUPT;
	if (rc == SQLITE_OK)
		rc = read_version(db, &version);
	if (rc == SQLITE_OK && version > SCHEMA) {
		errmsg_set(err,
			"the ledger has schema %lld and this release knows up to %d: "
			"run the release that wrote it, or a later one",
			(long long)version, SCHEMA);
		return SQLITE_MISMATCH;
	}
	for (; rc == SQLITE_OK && version < SCHEMA; version++)
		rc = migrate(db, (int)version);
	if (rc != SQLITE_OK)
		errmsg_set(err, "%s", sqlite3_errmsg(db));
	return rc;
}
