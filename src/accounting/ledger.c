/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the ledger in SQLite. */
#include "accounting/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sqlite3.h>

#define BUSY_MS 5000

/*
 * One text per schema version; PRAGMA user_version counts those that have run. Never edit one that
 * has been released: append. body is the JSON of the whole thing, the columns beside it are what
 * the queries select by.
 */
static const char *const migrations[] = {
	"CREATE TABLE record ("
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
	"CREATE INDEX event_run ON event (cluster, job, restart);"
	"CREATE INDEX record_start ON record (start);",
};
#define SCHEMA ((int)(sizeof(migrations) / sizeof(migrations[0])))

enum statement {
	S_BEGIN,
	S_COMMIT,
	S_ROLLBACK,
	S_PUT,
	S_RECORDS,
	S_SETTLE,
	S_SETTLEMENT,
	S_EVENT,
	S_UNSETTLED,
	S_COUNTS,
	S_PRUNE,
	S_COUNT
};

static const char *const sql[S_COUNT] = {
	[S_BEGIN] = "BEGIN IMMEDIATE",
	[S_COMMIT] = "COMMIT",
	[S_ROLLBACK] = "ROLLBACK",
	[S_PUT] = "INSERT INTO record (cluster, job, restart, node, start, seq, final, uid, body)"
		  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
		  " ON CONFLICT (cluster, job, restart, node, start) DO UPDATE"
		  " SET seq = excluded.seq, final = excluded.final, body = excluded.body"
		  " WHERE (excluded.seq > record.seq OR excluded.final) AND NOT record.final"
		  " AND excluded.uid = record.uid",
	[S_RECORDS] = "SELECT body FROM record WHERE cluster = ?1 AND job = ?2 AND restart = ?3"
		      " AND start >= ?4 ORDER BY node, start",
	[S_SETTLE] = "INSERT INTO settlement"
		     " (cluster, job, restart, start, finish, uid, raw, charged, body)"
		     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
	[S_SETTLEMENT] = "SELECT body FROM settlement WHERE cluster = ?1 AND job = ?2"
			 " AND restart = ?3 AND (?4 = 0 OR start = ?4) ORDER BY start DESC LIMIT 1",
	[S_EVENT] = "INSERT INTO event (unix, kind, cluster, job, restart, by_uid, body)"
		    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[S_UNSETTLED] = "SELECT job, restart, min(start) FROM record r WHERE cluster = ?1 AND final"
			" AND NOT EXISTS (SELECT 1 FROM settlement s WHERE s.cluster = r.cluster"
			" AND s.job = r.job AND s.restart = r.restart"
			" AND r.start BETWEEN s.start - ?3 AND s.finish + ?3)"
			" GROUP BY job, restart ORDER BY min(start) LIMIT ?2",
	[S_COUNTS] = "SELECT (SELECT count(*) FROM record), (SELECT count(*) FROM settlement),"
		     " (SELECT count(*) FROM event)",
	[S_PRUNE] = "DELETE FROM record WHERE (cluster, job, restart, node, start) IN"
		    " (SELECT cluster, job, restart, node, start FROM record r WHERE start < ?1"
		    " AND EXISTS (SELECT 1 FROM settlement s WHERE s.cluster = r.cluster"
		    " AND s.job = r.job AND s.restart = r.restart AND s.finish < ?1"
		    " AND r.start BETWEEN s.start - ?3 AND s.finish + ?3) LIMIT ?2)",
};

struct ledger {
	sqlite3 *db;
	sqlite3_stmt *st[S_COUNT];
};

static int db_failed(struct ledger *l, const char *what, struct errmsg *err)
{
	return errmsg_set(err, "ledger: cannot %s: %s", what, sqlite3_errmsg(l->db));
}

/* Runs a statement that gives no rows. */
static int run(struct ledger *l, enum statement s, const char *what, struct errmsg *err)
{
	int rc = sqlite3_step(l->st[s]) == SQLITE_DONE ? 0 : db_failed(l, what, err);

	sqlite3_reset(l->st[s]);
	sqlite3_clear_bindings(l->st[s]);
	return rc;
}

static void rollback(struct ledger *l)
{
	if (!sqlite3_get_autocommit(l->db))
		run(l, S_ROLLBACK, "roll back", NULL);
}

static void bind_run(
	sqlite3_stmt *st, const char *cluster, uint32_t job_id, uint32_t restart, int first)
{
	sqlite3_bind_text(st, first, cluster, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(st, first + 1, job_id);
	sqlite3_bind_int64(st, first + 2, restart);
}

static int one_number(sqlite3 *db, const char *query, int64_t *out)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(db, query, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
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

/* SQLITE_OK, or the error that says why the file cannot be used. */
static int set_up(sqlite3 *db, struct errmsg *err)
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
		rc = one_number(db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK && version > SCHEMA) {
		errmsg_set(err,
			"the ledger has schema %lld and this release knows up to %d: "
			"run the release that wrote it, or a later one",
			(long long)version, SCHEMA);
		return SQLITE_MISMATCH;
	}
	for (; rc == SQLITE_OK && version < SCHEMA; version++) {
		char *text = sqlite3_mprintf("BEGIN; %s PRAGMA user_version = %d; COMMIT;",
			migrations[version], (int)version + 1);

		rc = text ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(text);
	}
	if (rc != SQLITE_OK)
		errmsg_set(err, "%s", sqlite3_errmsg(db));
	return rc;
}

/* Moves the file and its log out of the way. */
static int set_file_aside(const char *path, char *aside, size_t size, struct errmsg *err)
{
	static const char *const suffix[] = {"-wal", "-shm"};
	char from[4096], to[4096];

	snprintf(aside, size, "%s.damaged-%lld", path, (long long)time(NULL));
	if (rename(path, aside))
		return errmsg_set(
			err, "cannot set the damaged ledger %s aside: %s", path, strerror(errno));
	for (int i = 0; i < 2; i++) {
		snprintf(from, sizeof(from), "%s%s", path, suffix[i]);
		snprintf(to, sizeof(to), "%s%s", aside, suffix[i]);
		if (rename(from, to) && errno != ENOENT)
			return errmsg_set(err, "cannot set %s aside: %s", from, strerror(errno));
	}
	return 0;
}

struct ledger *ledger_open(
	const char *path, char *set_aside, size_t set_aside_size, struct errmsg *err)
{
	struct ledger *l = calloc(1, sizeof(*l));
	struct errmsg why = {""};
	int rc;

	if (set_aside_size)
		set_aside[0] = '\0';
	if (!l) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	for (int attempt = 0;; attempt++) {
		rc = sqlite3_open_v2(path, &l->db,
			SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL);
		if (rc == SQLITE_OK)
			rc = set_up(l->db, &why);
		else
			errmsg_set(&why, "%s", l->db ? sqlite3_errmsg(l->db) : "out of memory");
		if ((rc != SQLITE_CORRUPT && rc != SQLITE_NOTADB) || attempt)
			break;
		sqlite3_close(l->db);
		l->db = NULL;
		if (set_file_aside(path, set_aside, set_aside_size, err)) {
			free(l);
			return NULL;
		}
	}
	for (int i = 0; rc == SQLITE_OK && i < S_COUNT; i++) {
		rc = sqlite3_prepare_v3(
			l->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &l->st[i], NULL);
		if (rc != SQLITE_OK)
			errmsg_set(&why, "%s", sqlite3_errmsg(l->db));
	}
	if (rc != SQLITE_OK) {
		errmsg_set(err, "cannot open the ledger %s: %s", path, why.text);
		ledger_close(l);
		return NULL;
	}
	return l;
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	for (int i = 0; i < S_COUNT; i++)
		sqlite3_finalize(l->st[i]);
	sqlite3_close(l->db);
	free(l);
}

static int put_one(
	struct ledger *l, const struct ledger_record *r, bool *stored, struct errmsg *err)
{
	json_t *json = record_to_json(r);
	char *body = json ? json_dumps(json, JSON_COMPACT) : NULL;
	sqlite3_stmt *st = l->st[S_PUT];
	int rc;

	json_decref(json);
	if (!body)
		return errmsg_set(err, "record: out of memory, or a text that is not UTF-8");
	bind_run(st, r->cluster, r->job_id, r->restart, 1);
	sqlite3_bind_text(st, 4, r->node, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(st, 5, r->start_unix);
	sqlite3_bind_int64(st, 6, (int64_t)r->seq);
	sqlite3_bind_int(st, 7, r->final);
	sqlite3_bind_int64(st, 8, r->uid);
	sqlite3_bind_text(st, 9, body, -1, SQLITE_TRANSIENT);
	rc = run(l, S_PUT, "store a record", err);
	if (!rc && stored)
		*stored = sqlite3_changes(l->db) > 0;
	free(body);
	return rc;
}

int ledger_put(struct ledger *l, const struct ledger_record *records, int n, bool *stored,
	struct errmsg *err)
{
	if (run(l, S_BEGIN, "begin", err))
		return -1;
	for (int i = 0; i < n; i++)
		if (put_one(l, &records[i], stored ? &stored[i] : NULL, err)) {
			rollback(l);
			return -1;
		}
	if (run(l, S_COMMIT, "commit", err)) {
		rollback(l);
		return -1;
	}
	return 0;
}

/* The JSON of a body column, or NULL with err. */
static json_t *column_json(sqlite3_stmt *st, int column, struct errmsg *err)
{
	const char *text = (const char *)sqlite3_column_text(st, column);
	json_error_t why;
	json_t *json = text ? json_loads(text, 0, &why) : NULL;

	if (!json)
		errmsg_set(err, "ledger: a row is damaged: %s", text ? why.text : "it is empty");
	return json;
}

int ledger_records(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct ledger_record **records, int *count, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_RECORDS];
	struct ledger_record *list = NULL;
	int used = 0, room = 0, rc = 0, step = SQLITE_DONE;

	bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_int64(st, 4, start_unix ? start_unix - LEDGER_CLOCK_SLACK_S : 0);
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW) {
		json_t *json = column_json(st, 0, err);

		if (used == room) {
			struct ledger_record *bigger;

			room = room ? 2 * room : 4;
			bigger = reallocarray(list, room, sizeof(*list));
			if (!bigger) {
				rc = errmsg_set(err, "out of memory");
				json_decref(json);
				break;
			}
			list = bigger;
		}
		rc = json ? record_from_json(json, &list[used], err) : -1;
		json_decref(json);
		used++;
	}
	if (!rc && step != SQLITE_DONE)
		rc = db_failed(l, "read records", err);
	sqlite3_reset(st);
	if (rc) {
		free(list);
		return -1;
	}
	*records = list;
	*count = used;
	return 0;
}

int ledger_settlement(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct settlement *s, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_SETTLEMENT];
	int rc, step;

	bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_int64(st, 4, start_unix);
	step = sqlite3_step(st);
	if (step == SQLITE_ROW) {
		json_t *json = column_json(st, 0, err);

		rc = json && !settlement_from_json(json, s, err) ? 1 : -1;
		json_decref(json);
	} else {
		rc = step == SQLITE_DONE ? 0 : db_failed(l, "read a settlement", err);
	}
	sqlite3_reset(st);
	return rc;
}

/* Within a transaction; 1 stored, 0 there was one, -1. */
static int insert_settlement(
	struct ledger *l, const struct settlement *s, uint32_t by, struct errmsg *err)
{
	json_t *json = settlement_to_json(s);
	char *body = json ? json_dumps(json, JSON_COMPACT) : NULL;
	sqlite3_stmt *st = l->st[S_SETTLE];
	int rc;

	json_decref(json);
	if (!body)
		return errmsg_set(err, "settlement: out of memory, or a text that is not UTF-8");
	bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int64(st, 5, s->end_unix);
	sqlite3_bind_int64(st, 6, s->uid);
	sqlite3_bind_int64(st, 7, (int64_t)s->raw);
	sqlite3_bind_int64(st, 8, (int64_t)s->charged);
	sqlite3_bind_text(st, 9, body, -1, SQLITE_TRANSIENT);
	rc = run(l, S_SETTLE, "store a settlement", err);
	if (!rc && sqlite3_changes(l->db) > 0) {
		st = l->st[S_EVENT];
		sqlite3_bind_int64(st, 1, s->settled_unix);
		sqlite3_bind_text(st, 2, "settled", -1, SQLITE_STATIC);
		bind_run(st, s->cluster, s->job_id, s->restart, 3);
		sqlite3_bind_int64(st, 6, by);
		sqlite3_bind_text(st, 7, body, -1, SQLITE_TRANSIENT);
		rc = run(l, S_EVENT, "store an event", err) ? -1 : 1;
	}
	free(body);
	return rc;
}

int ledger_settle(struct ledger *l, const struct settlement *s, uint32_t by,
	struct settlement *stored, struct errmsg *err)
{
	int rc;

	if (run(l, S_BEGIN, "begin", err))
		return -1;
	rc = insert_settlement(l, s, by, err);
	if (rc < 0 || run(l, S_COMMIT, "commit", err)) {
		rollback(l);
		return -1;
	}
	if (ledger_settlement(l, s->cluster, s->job_id, s->restart, s->start_unix, stored, err) !=
		1)
		return -1;
	return rc;
}

json_t *ledger_unsettled(struct ledger *l, const char *cluster, int max, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_UNSETTLED];
	json_t *list = json_array();
	int step;

	if (!list) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	sqlite3_bind_text(st, 1, cluster, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int(st, 2, max);
	sqlite3_bind_int(st, 3, LEDGER_CLOCK_SLACK_S);
	while ((step = sqlite3_step(st)) == SQLITE_ROW)
		json_array_append_new(list,
			json_pack("{s:I, s:I, s:I}", "job", (json_int_t)sqlite3_column_int64(st, 0),
				"restart", (json_int_t)sqlite3_column_int64(st, 1), "start",
				(json_int_t)sqlite3_column_int64(st, 2)));
	sqlite3_reset(st);
	if (step != SQLITE_DONE) {
		db_failed(l, "list unsettled runs", err);
		json_decref(list);
		return NULL;
	}
	return list;
}

json_t *ledger_counts(struct ledger *l, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_COUNTS];
	json_t *counts = NULL;

	if (sqlite3_step(st) == SQLITE_ROW)
		counts = json_pack("{s:i, s:I, s:I, s:I}", "schema", SCHEMA, "records",
			(json_int_t)sqlite3_column_int64(st, 0), "settlements",
			(json_int_t)sqlite3_column_int64(st, 1), "events",
			(json_int_t)sqlite3_column_int64(st, 2));
	else
		db_failed(l, "count", err);
	sqlite3_reset(st);
	return counts;
}

int ledger_prune(struct ledger *l, int64_t before_unix, int max, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_PRUNE];

	sqlite3_bind_int64(st, 1, before_unix);
	sqlite3_bind_int(st, 2, max);
	sqlite3_bind_int(st, 3, LEDGER_CLOCK_SLACK_S);
	return run(l, S_PRUNE, "remove old records", err) ? -1 : sqlite3_changes(l->db);
}
