/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the ledger in SQLite. */
#include "accounting/ledger.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sqlite3.h>

#include "accounting/fields.h"
#include "accounting/ledger_schema.h"
#include "accounting/origin.h"

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

static const char *const sql[S_COUNT] = {
	[S_BEGIN] = "BEGIN IMMEDIATE",
	[S_COMMIT] = "COMMIT",
	[S_ROLLBACK] = "ROLLBACK",
	[S_SAVE] = "SAVEPOINT request",
	[S_RELEASE] = "RELEASE request",
	[S_BACK] = "ROLLBACK TO request",
	[S_PUT] = "INSERT INTO record (cluster, job, restart, node, start, seq, final, uid, body,"
		  " origin, settled, foreign_node)"
		  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
		  " EXISTS (SELECT 1 FROM settlement s WHERE s.cluster = ?1 AND s.job = ?2"
		  " AND s.restart = ?3 AND ?5 BETWEEN s.start - ?11 AND s.finish + ?11), 0)"
		  " ON CONFLICT (cluster, job, restart, node, start, origin) DO UPDATE"
		  " SET seq = excluded.seq, final = excluded.final, body = excluded.body"
		  " WHERE (excluded.seq > record.seq OR excluded.final) AND NOT record.final"
		  " AND excluded.uid = record.uid",
	/* Where a node sent from several addresses, its best record comes first. */
	[S_RECORDS] = "SELECT body FROM record WHERE cluster = ?1 AND job = ?2 AND restart = ?3"
		      " AND start >= ?4 AND NOT foreign_node"
		      " ORDER BY node, start, final DESC, seq DESC",
	[S_ORIGINS] = "SELECT node, start, origin, foreign_node FROM record WHERE cluster = ?1"
		      " AND job = ?2 AND restart = ?3 AND start >= ?4",
	[S_FOREIGN] = "UPDATE record SET foreign_node = ?7 WHERE cluster = ?1 AND job = ?2"
		      " AND restart = ?3 AND node = ?4 AND start = ?5 AND origin = ?6",
	[S_SETTLE] = "INSERT INTO settlement"
		     " (cluster, job, restart, start, finish, uid, raw, charged, body)"
		     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
	[S_SETTLEMENT] = "SELECT body FROM settlement WHERE cluster = ?1 AND job = ?2"
			 " AND restart = ?3 AND (?4 = 0 OR start = ?4) ORDER BY start DESC LIMIT 1",
	[S_SETTLED] = "UPDATE record SET settled = 1 WHERE cluster = ?1 AND job = ?2"
		      " AND restart = ?3 AND start BETWEEN ?4 - ?6 AND ?5 + ?6",
	[S_EVENT] = "INSERT INTO event (id, unix, kind, cluster, job, restart, by_uid, body, hash)"
		    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[S_LAST_EVENT] = "SELECT id, hash FROM event ORDER BY id DESC LIMIT 1",
	[S_CHANGE] = "INSERT INTO change"
		     " (cluster, job, restart, start, n, unix, by_uid, state, body)"
		     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)",
	[S_CHANGED] = "SELECT body, state, unix, by_uid FROM change WHERE cluster = ?1"
		      " AND job = ?2 AND restart = ?3 AND start = ?4 ORDER BY n",
	[S_WAITING] = "SELECT body, state FROM change c WHERE cluster = ?1 AND state < 2"
		      " AND n = (SELECT max(n) FROM change d WHERE d.cluster = c.cluster"
		      " AND d.job = c.job AND d.restart = c.restart AND d.start = c.start)"
		      " ORDER BY unix LIMIT ?2",
	[S_STATE] = "UPDATE change SET state = ?6 WHERE cluster = ?1 AND job = ?2 AND restart = ?3"
		    " AND start = ?4 AND n <= ?5 AND state < ?6",
	[S_REFUSED] = "INSERT INTO refusal (kind, count, first, last) VALUES (?1, ?2, ?3, ?3)"
		      " ON CONFLICT (kind) DO UPDATE SET count = count + ?2, last = ?3",
	[S_REFUSALS] = "SELECT kind, count, first, last FROM refusal ORDER BY kind",
	[S_ID] = "SELECT value FROM meta WHERE key = 'id'",
	[S_UNSETTLED] = "SELECT job, restart, min(start) FROM record WHERE cluster = ?1"
			" AND final AND NOT settled AND NOT foreign_node"
			" GROUP BY job, restart ORDER BY min(start) LIMIT ?2",
	[S_COUNTS] = "SELECT records, settlements, events FROM stored",
	[S_PRUNE] =
		"DELETE FROM record WHERE (cluster, job, restart, node, start, origin) IN"
		" (SELECT cluster, job, restart, node, start, origin FROM record r WHERE start < ?1"
		" AND EXISTS (SELECT 1 FROM settlement s WHERE s.cluster = r.cluster"
		" AND s.job = r.job AND s.restart = r.restart AND s.finish < ?1"
		" AND r.start BETWEEN s.start - ?3 AND s.finish + ?3) LIMIT ?2)",
};

/*
 * Anybody may ask how many rows there are, as often as they like: they are counted once, and from
 * then on within the transactions that add and remove them.
 */
static const char count_rows[] =
	"PRAGMA temp_store = MEMORY;"
	"CREATE TEMP TABLE stored AS SELECT (SELECT count(*) FROM record) AS records,"
	" (SELECT count(*) FROM settlement) AS settlements,"
	" (SELECT count(*) FROM event) AS events;"
	"CREATE TEMP TRIGGER record_added AFTER INSERT ON main.record"
	" BEGIN UPDATE stored SET records = records + 1; END;"
	"CREATE TEMP TRIGGER record_removed AFTER DELETE ON main.record"
	" BEGIN UPDATE stored SET records = records - 1; END;"
	"CREATE TEMP TRIGGER settlement_added AFTER INSERT ON main.settlement"
	" BEGIN UPDATE stored SET settlements = settlements + 1; END;"
	"CREATE TEMP TRIGGER event_added AFTER INSERT ON main.event"
	" BEGIN UPDATE stored SET events = events + 1; END;";

struct ledger {
	sqlite3 *db;
	sqlite3_stmt *st[S_COUNT];
	bool grouped; /* transactions are parts of one that ledger_commit() ends */
	int64_t last_event;
	char last_hash[LEDGER_HASH_SIZE];
	char id[64];
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

static int read_last_event(struct ledger *l, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_LAST_EVENT];
	int step = sqlite3_step(st);

	l->last_event = 0;
	l->last_hash[0] = '\0';
	if (step == SQLITE_ROW) {
		const char *hash = (const char *)sqlite3_column_text(st, 1);

		l->last_event = sqlite3_column_int64(st, 0);
		snprintf(l->last_hash, sizeof(l->last_hash), "%s", hash ? hash : "");
	}
	sqlite3_reset(st);
	return step == SQLITE_ROW || step == SQLITE_DONE ? 0 : db_failed(l, "read events", err);
}

static int begin(struct ledger *l, struct errmsg *err)
{
	return run(l, l->grouped ? S_SAVE : S_BEGIN, "begin", err);
}

static void rollback(struct ledger *l)
{
	if (sqlite3_get_autocommit(l->db)) {
		/* SQLite itself took everything back. */
		l->grouped = false;
	} else if (l->grouped) {
		run(l, S_BACK, "roll back", NULL);
		run(l, S_RELEASE, "roll back", NULL);
	} else {
		run(l, S_ROLLBACK, "roll back", NULL);
	}
	read_last_event(l, NULL);
}

/* What failed is taken back. */
static int commit(struct ledger *l, struct errmsg *err)
{
	if (!run(l, l->grouped ? S_RELEASE : S_COMMIT, "commit", err))
		return 0;
	rollback(l);
	return -1;
}

int ledger_group(struct ledger *l, struct errmsg *err)
{
	if (l->grouped)
		return 0;
	if (run(l, S_BEGIN, "begin", err))
		return -1;
	l->grouped = true;
	return 0;
}

int ledger_commit(struct ledger *l, struct errmsg *err)
{
	if (!l->grouped)
		return errmsg_set(err, "ledger: what was to be stored has been taken back");
	l->grouped = false;
	return commit(l, err);
}

static void bind_run(
	sqlite3_stmt *st, const char *cluster, uint32_t job_id, uint32_t restart, int first)
{
	sqlite3_bind_text(st, first, cluster, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(st, first + 1, job_id);
	sqlite3_bind_int64(st, first + 2, restart);
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

int ledger_set_aside(const struct ledger *l)
{
	const char *path = sqlite3_db_filename(l->db, "main");
	char pattern[4096];
	glob_t found = {0};
	int n = 0;

	/* One in memory has no name. Names end with the time, those of the logs beside them do not.
	 */
	if (!path || !*path ||
		(size_t)snprintf(pattern, sizeof(pattern), "%s.damaged-*[0-9]", path) >=
			sizeof(pattern))
		return 0;
	if (!glob(pattern, GLOB_NOSORT, NULL, &found))
		n = (int)found.gl_pathc;
	globfree(&found);
	return n;
}

static int read_id(struct ledger *l, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_ID];
	const char *id =
		sqlite3_step(st) == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
	int rc = id ? 0 : errmsg_set(err, "it has no identity");

	snprintf(l->id, sizeof(l->id), "%s", id ? id : "");
	sqlite3_reset(st);
	return rc;
}

const char *ledger_id(const struct ledger *l)
{
	return l->id;
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
			rc = ledger_schema_apply(l->db, &why);
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
	if (rc == SQLITE_OK && (rc = sqlite3_exec(l->db, count_rows, NULL, NULL, NULL)))
		errmsg_set(&why, "%s", sqlite3_errmsg(l->db));
	for (int i = 0; rc == SQLITE_OK && i < S_COUNT; i++) {
		rc = sqlite3_prepare_v3(
			l->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &l->st[i], NULL);
		if (rc != SQLITE_OK)
			errmsg_set(&why, "%s", sqlite3_errmsg(l->db));
	}
	if (rc == SQLITE_OK && (read_last_event(l, &why) || read_id(l, &why)))
		rc = SQLITE_ERROR;
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

static int put_one(struct ledger *l, const struct ledger_record *r, const char *origin,
	bool *stored, struct errmsg *err)
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
	sqlite3_bind_text(st, 9, body, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 10, origin, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 11, LEDGER_CLOCK_SLACK_S);
	rc = run(l, S_PUT, "store a record", err);
	if (!rc && stored)
		*stored = sqlite3_changes(l->db) > 0;
	free(body);
	return rc;
}

int ledger_put(struct ledger *l, const struct ledger_record *records, int n, const char *origin,
	bool *stored, struct errmsg *err)
{
	if (begin(l, err))
		return -1;
	for (int i = 0; i < n; i++)
		if (put_one(l, &records[i], origin, stored ? &stored[i] : NULL, err)) {
			rollback(l);
			return -1;
		}
	return commit(l, err);
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
		if (rc || !used || strcmp(list[used].node, list[used - 1].node) ||
			list[used].start_unix != list[used - 1].start_unix)
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

static int each_change(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, json_t *list, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_CHANGED];
	int step, rc = 0;

	bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_int64(st, 4, start_unix);
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW) {
		json_t *json = column_json(st, 0, err);

		json_object_set_new(json, "state", json_integer(sqlite3_column_int64(st, 1)));
		json_object_set_new(json, "time", json_integer(sqlite3_column_int64(st, 2)));
		json_object_set_new(json, "by_uid", json_integer(sqlite3_column_int64(st, 3)));
		rc = json_array_append_new(list, json) ? -1 : 0;
	}
	if (!rc && step != SQLITE_DONE)
		rc = db_failed(l, "read changes", err);
	sqlite3_reset(st);
	return rc;
}

json_t *ledger_changes(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct errmsg *err)
{
	json_t *list = json_array();

	if (!list || each_change(l, cluster, job_id, restart, start_unix, list, err)) {
		if (!list)
			errmsg_set(err, "out of memory");
		json_decref(list);
		return NULL;
	}
	return list;
}

/* The settlement as it was made, without what was changed since. */
static int first_settlement(struct ledger *l, const char *cluster, uint32_t job_id,
	uint32_t restart, int64_t start_unix, struct settlement *s, struct errmsg *err)
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

int ledger_settlement(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct settlement *s, struct errmsg *err)
{
	int rc = first_settlement(l, cluster, job_id, restart, start_unix, s, err);
	json_t *changes, *last;
	size_t n;

	if (rc != 1)
		return rc;
	changes = ledger_changes(l, cluster, job_id, restart, s->start_unix, err);
	if (!changes)
		return -1;
	n = json_array_size(changes);
	last = n ? json_array_get(changes, n - 1) : NULL;
	if (last && settlement_from_json(json_object_get(last, "settlement"), s, err))
		rc = -1;
	json_decref(changes);
	return rc;
}

/* Within a transaction: appends to the log. */
static int append_event(struct ledger *l, int64_t now, const char *kind, const struct settlement *s,
	uint32_t by, const char *body, struct errmsg *err)
{
	struct ledger_event e = {.id = l->last_event + 1,
		.unix_s = now,
		.kind = kind,
		.cluster = s->cluster,
		.job = s->job_id,
		.restart = s->restart,
		.by_uid = by,
		.body = body};
	sqlite3_stmt *st = l->st[S_EVENT];
	char hash[LEDGER_HASH_SIZE];

	if (ledger_event_hash(l->last_hash, &e, hash))
		return errmsg_set(err, "event: out of memory, or a text that is not UTF-8");
	sqlite3_bind_int64(st, 1, e.id);
	sqlite3_bind_int64(st, 2, e.unix_s);
	sqlite3_bind_text(st, 3, kind, -1, SQLITE_STATIC);
	bind_run(st, s->cluster, s->job_id, s->restart, 4);
	sqlite3_bind_int64(st, 7, by);
	sqlite3_bind_text(st, 8, body, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 9, hash, -1, SQLITE_STATIC);
	if (run(l, S_EVENT, "store an event", err))
		return -1;
	l->last_event = e.id;
	memcpy(l->last_hash, hash, sizeof(hash));
	return 0;
}

/* Within a transaction: the records of the run wait for nothing any more. */
static int mark_settled(struct ledger *l, const struct settlement *s, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_SETTLED];

	bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int64(st, 5, s->end_unix);
	sqlite3_bind_int(st, 6, LEDGER_CLOCK_SLACK_S);
	return run(l, S_SETTLED, "mark records", err);
}

static char *body_of(json_t *json, struct errmsg *err)
{
	char *body = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (!body)
		errmsg_set(err, "settlement: out of memory, or a text that is not UTF-8");
	return body;
}

/* Within a transaction; 1 stored, 0 there was one, -1. */
static int insert_settlement(struct ledger *l, const struct settlement *s, const char *kind,
	uint32_t by, struct errmsg *err)
{
	char *body = body_of(settlement_to_json(s), err);
	sqlite3_stmt *st = l->st[S_SETTLE];
	int rc;

	if (!body)
		return -1;
	bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int64(st, 5, s->end_unix);
	sqlite3_bind_int64(st, 6, s->uid);
	sqlite3_bind_int64(st, 7, (int64_t)s->raw);
	sqlite3_bind_int64(st, 8, (int64_t)s->charged);
	sqlite3_bind_text(st, 9, body, -1, SQLITE_STATIC);
	rc = run(l, S_SETTLE, "store a settlement", err);
	if (!rc && sqlite3_changes(l->db) > 0)
		rc = append_event(l, s->settled_unix, kind, s, by, body, err) ||
				     mark_settled(l, s, err)
			     ? -1
			     : 1;
	free(body);
	return rc;
}

static int settle_as(struct ledger *l, const struct settlement *s, const char *kind, uint32_t by,
	struct settlement *stored, struct errmsg *err)
{
	int rc;

	if (begin(l, err))
		return -1;
	rc = insert_settlement(l, s, kind, by, err);
	if (rc < 0) {
		rollback(l);
		return -1;
	}
	if (commit(l, err))
		return -1;
	if (ledger_settlement(l, s->cluster, s->job_id, s->restart, s->start_unix, stored, err) !=
		1)
		return -1;
	return rc;
}

int ledger_settle(struct ledger *l, const struct settlement *s, uint32_t by,
	struct settlement *stored, struct errmsg *err)
{
	return settle_as(l, s, LEDGER_SETTLED, by, stored, err);
}

int ledger_restore(struct ledger *l, const struct settlement *s, uint32_t by,
	struct settlement *stored, struct errmsg *err)
{
	return settle_as(l, s, LEDGER_RESTORED, by, stored, err);
}

/* Whether s may follow what there is; 0 with err where it may not. */
static int may_follow(const struct settlement *s, const struct settlement *now, struct errmsg *err)
{
	if (s->changes != now->changes + 1)
		errmsg_set(err,
			"job %u: its price was changed meanwhile, to %llu: look again before you "
			"change it",
			s->job_id, (unsigned long long)now->charged);
	else if (s->raw != now->raw || s->uid != now->uid || s->end_unix != now->end_unix)
		errmsg_set(err, "job %u: a change may set the price alone", s->job_id);
	else
		return 1;
	return 0;
}

static int insert_change(struct ledger *l, const struct settlement *s, const struct settlement *old,
	const char *reason, uint32_t by, int64_t now, struct errmsg *err)
{
	char *body = body_of(json_pack("{s:i, s:s, s:{s:I, s:s}, s:o}", "n", s->changes, "reason",
				     reason, "old", "charged", (json_int_t)old->charged, "text",
				     old->text, "settlement", settlement_to_json(s)),
		err);
	sqlite3_stmt *st = l->st[S_CHANGE];
	int rc;

	if (!body)
		return -1;
	bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int(st, 5, s->changes);
	sqlite3_bind_int64(st, 6, now);
	sqlite3_bind_int64(st, 7, by);
	sqlite3_bind_text(st, 8, body, -1, SQLITE_STATIC);
	rc = run(l, S_CHANGE, "store a change", err) ||
			     append_event(l, now, LEDGER_CHANGED, s, by, body, err)
		     ? -1
		     : 1;
	free(body);
	return rc;
}

int ledger_change(struct ledger *l, const struct settlement *s, const char *reason, uint32_t by,
	int64_t now, struct errmsg *err)
{
	struct settlement old;
	int rc;

	if (begin(l, err))
		return -1;
	rc = ledger_settlement(l, s->cluster, s->job_id, s->restart, s->start_unix, &old, err);
	if (rc == 0)
		errmsg_set(err, "job %u: that run has no settlement", s->job_id);
	if (rc == 1)
		rc = may_follow(s, &old, err);
	if (rc == 1)
		rc = insert_change(l, s, &old, reason, by, now, err);
	if (rc != 1) {
		rollback(l);
		return rc;
	}
	return commit(l, err) ? -1 : 1;
}

json_t *ledger_waiting_changes(struct ledger *l, const char *cluster, int max, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_WAITING];
	json_t *list = json_array();
	int step = SQLITE_ERROR;

	sqlite3_bind_text(st, 1, cluster, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int(st, 2, max);
	while (list && (step = sqlite3_step(st)) == SQLITE_ROW) {
		json_t *json = column_json(st, 0, err);

		json_object_set_new(json, "state", json_integer(sqlite3_column_int64(st, 1)));
		if (json_array_append_new(list, json))
			break;
	}
	sqlite3_reset(st);
	if (step == SQLITE_DONE)
		return list;
	if (step != SQLITE_ROW)
		db_failed(l, "list changes", err);
	json_decref(list);
	return NULL;
}

int ledger_change_state(struct ledger *l, const struct settlement *s,
	enum ledger_change_state state, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_STATE];

	bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int(st, 5, s->changes);
	sqlite3_bind_int(st, 6, (int)state);
	return run(l, S_STATE, "mark a change", err) ? -1 : sqlite3_changes(l->db) > 0;
}

/* A record of the run and what is to be said of it. */
struct verdict {
	struct verdict *next;
	char node[64], origin[ORIGIN_SIZE];
	int64_t start;
	bool foreign;
};

static int set_foreign(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	const struct verdict *v, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_FOREIGN];

	bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_text(st, 4, v->node, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 5, v->start);
	sqlite3_bind_text(st, 6, v->origin, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 7, v->foreign);
	return run(l, S_FOREIGN, "mark a record", err);
}

int ledger_own(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, const json_t *nodes, ledger_foreign_fn fn, void *arg,
	struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_ORIGINS];
	struct verdict *changed = NULL, *v;
	int step, found = 0, rc = 0;

	bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_int64(st, 4, start_unix ? start_unix - LEDGER_CLOCK_SLACK_S : 0);
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW) {
		const char *node = (const char *)sqlite3_column_text(st, 0);
		const char *origin = (const char *)sqlite3_column_text(st, 2);
		bool foreign = !origin_allowed(nodes, node ? node : "", origin ? origin : "");

		if (foreign == (sqlite3_column_int(st, 3) != 0))
			continue;
		v = calloc(1, sizeof(*v));
		if (!v) {
			rc = errmsg_set(err, "out of memory");
			break;
		}
		snprintf(v->node, sizeof(v->node), "%s", node);
		snprintf(v->origin, sizeof(v->origin), "%s", origin);
		v->start = sqlite3_column_int64(st, 1);
		v->foreign = foreign;
		v->next = changed;
		changed = v;
	}
	if (!rc && step != SQLITE_DONE)
		rc = db_failed(l, "read records", err);
	sqlite3_reset(st);
	while ((v = changed)) {
		if (!rc)
			rc = set_foreign(l, cluster, job_id, restart, v, err);
		if (!rc && v->foreign) {
			fn(v->node, v->origin, arg);
			found++;
		}
		changed = v->next;
		free(v);
	}
	return rc ? -1 : found;
}

int ledger_count_refusals(
	struct ledger *l, const char *kind, uint64_t n, int64_t now, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_REFUSED];

	sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, (int64_t)n);
	sqlite3_bind_int64(st, 3, now);
	return run(l, S_REFUSED, "count", err);
}

json_t *ledger_refusals(struct ledger *l, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_REFUSALS];
	json_t *all = json_object();
	int step;

	while ((step = sqlite3_step(st)) == SQLITE_ROW)
		json_object_set_new(all, (const char *)sqlite3_column_text(st, 0),
			json_pack("{s:I, s:I, s:I}", "count",
				(json_int_t)sqlite3_column_int64(st, 1), "first",
				(json_int_t)sqlite3_column_int64(st, 2), "last",
				(json_int_t)sqlite3_column_int64(st, 3)));
	sqlite3_reset(st);
	if (step == SQLITE_DONE && all)
		return all;
	db_failed(l, "read what was refused", err);
	json_decref(all);
	return NULL;
}

void ledger_head(const struct ledger *l, int64_t *id, char hash[LEDGER_HASH_SIZE])
{
	*id = l->last_event;
	memcpy(hash, l->last_hash, sizeof(l->last_hash));
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
		counts = json_pack("{s:i, s:I, s:I, s:I}", "schema", ledger_schema_version,
			"records", (json_int_t)sqlite3_column_int64(st, 0), "settlements",
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
