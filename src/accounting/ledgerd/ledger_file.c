/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks, copies and exports a ledger's file through SQLite, row by row. */
#include "accounting/ledgerd/ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>
#include <sqlite3.h>

#include "accounting/ledgerd/ledger.h"
#include "accounting/ledgerd/ledger_columns.h"
#include "accounting/record/record.h"
#include "accounting/record/settlement.h"

#define BUSY_MS 5000
#define MAX_LINES 100

static int db_failed(sqlite3 *db, const char *path, const char *what, struct errmsg *err)
{
	return errmsg_set(err, "cannot %s the ledger %s: %s", what, path,
		db ? sqlite3_errmsg(db) : "out of memory");
}

static int open_file(const char *path, sqlite3 **db, struct errmsg *err)
{
	/* SQLite's message for a missing file is the same as for a damaged one. */
	if (access(path, R_OK))
		return errmsg_set(err, "cannot read the ledger %s: %s", path, strerror(errno));
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
		db_failed(*db, path, "open", err);
		sqlite3_close(*db);
		*db = NULL;
		return -1;
	}
	sqlite3_busy_timeout(*db, BUSY_MS);
	return 0;
}

/* Opens the file for reads that all see one moment, whatever poppa-ledgerd writes meanwhile. */
static int open_moment(const char *path, sqlite3 **db, struct errmsg *err)
{
	if (open_file(path, db, err))
		return -1;
	if (sqlite3_exec(*db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	db_failed(*db, path, "read", err);
	sqlite3_close(*db);
	return -1;
}

/* --- check --- */

struct check {
	const char *path;
	sqlite3 *db;
	const struct ledger_anchor *anchor;
	struct ledger_check *out;
	char previous[LEDGER_HASH_SIZE]; /* hash of the event before */
	char run[256];                   /* run of the change before */
	int64_t changes_of_run;          /* how many changes of that run were read */
	ledger_fault_fn fn;
	void *arg;
	struct errmsg *err;
};

static void __attribute__((format(printf, 2, 3))) fault(struct check *c, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (++c->out->faults > MAX_LINES)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	c->fn(line, c->arg);
}

/* Calls row for each row of a query, in which columns_sql() puts the columns of fields. 0, or -1
 * with c->err. */
static int each_row(struct check *c, const char *query, const struct field_table *fields,
	void (*row)(struct check *c, sqlite3_stmt *st))
{
	char *sql = columns_sql(query, fields);
	sqlite3_stmt *st;
	int step = sql ? sqlite3_prepare_v2(c->db, sql, -1, &st, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (step != SQLITE_OK)
		return db_failed(c->db, c->path, "read", c->err);
	while ((step = sqlite3_step(st)) == SQLITE_ROW)
		row(c, st);
	sqlite3_finalize(st);
	return step == SQLITE_DONE ? 0 : db_failed(c->db, c->path, "read", c->err);
}

static const char *text(sqlite3_stmt *st, int column)
{
	const char *t = (const char *)sqlite3_column_text(st, column);

	return t ? t : "";
}

static void integrity_row(struct check *c, sqlite3_stmt *st)
{
	if (strcmp(text(st, 0), "ok"))
		fault(c, "SQLite: %s", text(st, 0));
}

static void schema_row(struct check *c, sqlite3_stmt *st)
{
	c->out->schema = sqlite3_column_int64(st, 0);
}

/* The JSON in a body column, or NULL after a fault. what: "record of job 12 restart 0 ...". */
static json_t *body(struct check *c, sqlite3_stmt *st, int column, const char *what)
{
	json_error_t why;
	json_t *json = json_loads(text(st, column), 0, &why);

	if (!json)
		fault(c, "%s: its body is damaged: %s", what, why.text);
	return json;
}

static void record_row(struct check *c, sqlite3_stmt *st)
{
	struct errmsg err = {""};
	struct ledger_record r;
	char what[256];
	json_t *json;

	c->out->records++;
	c->out->foreign_records += sqlite3_column_int(st, 1) != 0;
	snprintf(what, sizeof(what), "record of job %lld restart %lld node %s",
		sqlite3_column_int64(st, 3), sqlite3_column_int64(st, 4), text(st, 5));
	json = body(c, st, 0, what);
	if (!json)
		return;
	if (record_from_json(json, &r, &err))
		fault(c, "%s: %s", what, err.text);
	else if (!columns_agree(st, &record_fields, &r))
		fault(c, "%s: its body and its columns disagree", what);
	json_decref(json);
}

static void settlement_row(struct check *c, sqlite3_stmt *st)
{
	struct errmsg err = {""};
	struct settlement s;
	char what[256];
	json_t *json;

	c->out->settlements++;
	snprintf(what, sizeof(what), "settlement of job %lld restart %lld",
		sqlite3_column_int64(st, 3), sqlite3_column_int64(st, 4));
	if (sqlite3_column_int64(st, 1) != 1)
		fault(c, "%s: it has %lld events instead of one that says the same", what,
			sqlite3_column_int64(st, 1));
	json = body(c, st, 0, what);
	if (!json)
		return;
	if (settlement_from_json(json, &s, &err))
		fault(c, "%s: %s", what, err.text);
	else if (!columns_agree(st, &settlement_fields, &s))
		fault(c, "%s: its body and its columns disagree", what);
	json_decref(json);
}

/* The settlement in the body of a change must agree with the columns. */
static void change_row(struct check *c, sqlite3_stmt *st)
{
	struct errmsg err = {""};
	struct settlement s;
	char what[256];
	json_t *json;

	c->out->changes++;
	snprintf(what, sizeof(what), "changes of job %lld restart %lld of %s since %lld",
		sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 2), text(st, 0),
		sqlite3_column_int64(st, 3));
	c->changes_of_run = strcmp(what, c->run) ? 1 : c->changes_of_run + 1;
	strcpy(c->run, what);
	if (sqlite3_column_int64(st, 4) != c->changes_of_run)
		fault(c, "%s: number %lld is missing", what, (long long)c->changes_of_run);
	if (sqlite3_column_int64(st, 6) != 1)
		fault(c, "%s: it has %lld events instead of one that says the same", what,
			sqlite3_column_int64(st, 6));
	if (!sqlite3_column_int64(st, 7))
		fault(c, "%s: it has no settlement", what);
	json = body(c, st, 5, what);
	if (!json)
		return;
	if (settlement_from_json(json_object_get(json, "settlement"), &s, &err))
		fault(c, "%s: %s", what, err.text);
	else if (strcmp(s.cluster, text(st, 0)) || s.job_id != sqlite3_column_int64(st, 1) ||
		 s.restart != sqlite3_column_int64(st, 2) ||
		 s.start_unix != sqlite3_column_int64(st, 3) ||
		 s.changes != sqlite3_column_int64(st, 4))
		fault(c, "%s: its body and its columns disagree", what);
	json_decref(json);
}

static void event_row(struct check *c, sqlite3_stmt *st)
{
	struct ledger_event e = {.id = sqlite3_column_int64(st, 0),
		.unix_s = sqlite3_column_int64(st, 1),
		.kind = text(st, 2),
		.cluster = text(st, 3),
		.job = sqlite3_column_int64(st, 4),
		.restart = sqlite3_column_int64(st, 5),
		.by_uid = sqlite3_column_int64(st, 6),
		.body = text(st, 7)};
	char hash[LEDGER_HASH_SIZE] = "";

	c->out->events++;
	if (e.id != c->out->head + 1)
		fault(c, "event %lld follows event %lld in the log", (long long)e.id,
			(long long)c->out->head);
	if (ledger_event_hash(c->previous, &e, hash) || strcmp(hash, text(st, 8)))
		fault(c, "event %lld of the log is not what it was, or one before it is missing",
			(long long)e.id);
	/* The next event's hash was made from this one's, right or wrong. */
	snprintf(c->previous, sizeof(c->previous), "%s", text(st, 8));
	c->out->head = e.id;
	if (c->anchor && c->anchor->event == e.id && strcmp(c->anchor->hash, c->previous))
		fault(c, "event %lld of the log is not the one that was noted", (long long)e.id);
}

static void orphan_row(struct check *c, sqlite3_stmt *st)
{
	if (sqlite3_column_int64(st, 0))
		fault(c, "%lld settlements that the log of events names are not there",
			sqlite3_column_int64(st, 0));
	if (sqlite3_column_int64(st, 1))
		fault(c, "%lld changes that the log of events names are not there",
			sqlite3_column_int64(st, 1));
}

static void trigger_row(struct check *c, sqlite3_stmt *st)
{
	fault(c, "the trigger %s, which keeps the log as it is, is missing", text(st, 0));
}

static void prior_row(struct check *c, sqlite3_stmt *st)
{
	struct slow_prior prior;

	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		prior.weight[i] = sqlite3_column_double(st, 1 + i);
	if (!slow_prior_valid(&prior))
		fault(c, "the prior of nodes of type \"%s\" is not valid", text(st, 0));
}

static void refusal_row(struct check *c, sqlite3_stmt *st)
{
	struct ledger_refusal *r = &c->out->refusal[c->out->refusal_count];

	if (c->out->refusal_count == LEDGER_MAX_REFUSALS)
		return;
	snprintf(r->kind, sizeof(r->kind), "%s", text(st, 0));
	r->count = sqlite3_column_int64(st, 1);
	r->first_unix = sqlite3_column_int64(st, 2);
	r->last_unix = sqlite3_column_int64(st, 3);
	c->out->refusal_count++;
}

static const struct question {
	const char *query;
	void (*row)(struct check *c, sqlite3_stmt *st);
	const struct field_table *fields; /* NULL: all columns are named */
} questions[] = {
	{"SELECT body, foreign_node, {a:$} FROM record", record_row, &record_fields},
	{"SELECT body, (SELECT count(*) FROM event e WHERE e.kind IN ('settled', 'restored')"
	 " AND e.cluster = s.cluster AND e.job = s.job AND e.restart = s.restart"
	 " AND e.body = s.body), {a:$} FROM settlement s",
		settlement_row, &settlement_fields},
	{"SELECT cluster, job, restart, start, n, body,"
	 " (SELECT count(*) FROM event e WHERE e.kind = 'changed' AND e.cluster = c.cluster"
	 " AND e.job = c.job AND e.restart = c.restart AND e.body = c.body),"
	 " EXISTS (SELECT 1 FROM settlement s WHERE s.cluster = c.cluster AND s.job = c.job"
	 " AND s.restart = c.restart AND s.start = c.start)"
	 " FROM change c ORDER BY cluster, job, restart, start, n",
		change_row, NULL},
	{"SELECT id, unix, kind, cluster, job, restart, by_uid, body, hash FROM event ORDER BY id",
		event_row, NULL},
	{"SELECT count(*) FILTER (WHERE kind IN ('settled', 'restored') AND NOT EXISTS"
	 " (SELECT 1 FROM settlement s WHERE s.cluster = e.cluster AND s.job = e.job"
	 " AND s.restart = e.restart AND s.body = e.body)),"
	 " count(*) FILTER (WHERE kind = 'changed' AND NOT EXISTS"
	 " (SELECT 1 FROM change c WHERE c.cluster = e.cluster AND c.job = e.job"
	 " AND c.restart = e.restart AND c.body = e.body)) FROM event e",
		orphan_row, NULL},
	{"SELECT column1 FROM (VALUES ('event_kept'), ('event_unchanged'), ('settlement_kept'),"
	 " ('settlement_unchanged'), ('change_kept'), ('change_unchanged'))"
	 " WHERE column1 NOT IN (SELECT name FROM sqlite_master WHERE type = 'trigger')",
		trigger_row, NULL},
	{"SELECT node_type, none, narrow, wide FROM slow_prior", prior_row, NULL},
	{"SELECT kind, count, first, last FROM refusal ORDER BY kind", refusal_row, NULL},
};

static int ask_all(struct check *c)
{
	if (each_row(c, "PRAGMA integrity_check(100)", NULL, integrity_row) ||
		each_row(c, "PRAGMA user_version", NULL, schema_row))
		return -1;
	if (c->out->schema != LEDGER_SCHEMA)
		return errmsg_set(c->err,
			"the ledger %s has schema %lld, and this release checks schema %d", c->path,
			(long long)c->out->schema, LEDGER_SCHEMA);
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		if (each_row(c, questions[i].query, questions[i].fields, questions[i].row))
			return -1;
	strcpy(c->out->hash, c->previous);
	if (c->anchor && c->anchor->event > c->out->head)
		fault(c, "the log ends at event %lld, and event %lld was noted once",
			(long long)c->out->head, (long long)c->anchor->event);
	return 0;
}

int ledger_file_check(const char *path, const struct ledger_anchor *anchor,
	struct ledger_check *out, ledger_fault_fn fn, void *arg, struct errmsg *err)
{
	struct check c = {
		.path = path, .anchor = anchor, .out = out, .fn = fn, .arg = arg, .err = err};
	int rc;

	*out = (struct ledger_check){.schema = 0};
	if (open_moment(path, &c.db, err))
		return -1;
	rc = ask_all(&c);
	sqlite3_close(c.db);
	return rc;
}

/* --- backup --- */

/* Copies into an open, empty database. */
static int copy(sqlite3 *from, sqlite3 *to, const char *name, struct errmsg *err)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc;

	if (!b)
		return db_failed(to, name, "write", err);
	/* One step keeps no writer out of a database in WAL mode. With several steps SQLite begins
	 * anew whenever somebody has written in between, and under load it never ends. */
	while ((rc = sqlite3_backup_step(b, -1)) == SQLITE_BUSY || rc == SQLITE_LOCKED)
		sqlite3_sleep(10);
	sqlite3_backup_finish(b);
	/* The copy is one file, without a log beside it. */
	if (rc == SQLITE_DONE)
		rc = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	/* Whoever goes back to a copy needs again what came after it. The nodes send it to a ledger
	 * that they do not know, so each copy gets an identity of its own. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(to,
			"UPDATE meta SET value = lower(hex(randomblob(16))) WHERE key = 'id'", NULL,
			NULL, NULL);
	return rc == SQLITE_OK ? 0 : db_failed(to, name, "write", err);
}

static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -1 : fsync(fd);

	if (fd >= 0)
		close(fd);
	return rc;
}

int ledger_file_backup(const char *path, const char *to, struct errmsg *err)
{
	sqlite3 *from = NULL, *copied = NULL;
	char part[PATH_MAX];
	int rc = -1, fd;

	if (snprintf(part, sizeof(part), "%s.part", to) >= (int)sizeof(part))
		return errmsg_set(err, "the name of the backup is too long");
	if (!access(to, F_OK))
		return errmsg_set(
			err, "%s exists already: choose another name or move it away", to);
	if (open_file(path, &from, err))
		return -1;
	fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		errmsg_set(err, "cannot write %s: %s", part, strerror(errno));
		sqlite3_close(from);
		return -1;
	}
	close(fd);
	if (sqlite3_open_v2(part, &copied, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
		rc = copy(from, copied, part, err);
	else
		db_failed(copied, part, "open", err);
	sqlite3_close(copied);
	sqlite3_close(from);
	/* link() does not replace a file that somebody has made meanwhile. */
	if (!rc && (sync_file(part) || link(part, to)))
		rc = errmsg_set(err, "cannot write %s: %s", to, strerror(errno));
	unlink(part);
	return rc;
}

/* --- export --- */

static int export_table(sqlite3 *db, const char *path, const char *query, const char *kind,
	int64_t since_unix, FILE *out, struct errmsg *err)
{
	sqlite3_stmt *st;
	int step = SQLITE_ERROR, rc = 0;

	if (sqlite3_prepare_v2(db, query, -1, &st, NULL) != SQLITE_OK)
		return db_failed(db, path, "read", err);
	sqlite3_bind_int64(st, 1, since_unix);
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW) {
		json_t *json = json_loads(text(st, 0), 0, NULL);

		if (!json_is_object(json))
			rc = errmsg_set(err, "a %s in %s is damaged: see \"poppa ledger check\"",
				kind, path);
		json_object_set_new(json, "kind", json_string(kind));
		if (sqlite3_column_count(st) > 1) {
			json_object_set_new(
				json, "event", json_integer(sqlite3_column_int64(st, 1)));
			json_object_set_new(
				json, "time", json_integer(sqlite3_column_int64(st, 2)));
			json_object_set_new(json, "what", json_string(text(st, 3)));
			json_object_set_new(
				json, "by_uid", json_integer(sqlite3_column_int64(st, 4)));
		}
		if (!rc && (json_dumpf(json, out, JSON_COMPACT) || fputc('\n', out) == EOF))
			rc = errmsg_set(err, "cannot write the export: %s", strerror(errno));
		json_decref(json);
	}
	sqlite3_finalize(st);
	return rc || step == SQLITE_DONE ? rc : db_failed(db, path, "read", err);
}

int ledger_file_export(const char *path, int64_t since_unix, FILE *out, struct errmsg *err)
{
	static const struct {
		const char *kind, *query;
	} tables[] = {
		{"record", "SELECT body FROM record WHERE start >= ?1"
			   " ORDER BY start, cluster, job, restart, node"},
		{"settlement", "SELECT body FROM settlement WHERE finish >= ?1"
			       " ORDER BY finish, cluster, job, restart"},
		{"event", "SELECT body, id, unix, kind, by_uid FROM event WHERE unix >= ?1"
			  " ORDER BY id"},
	};
	sqlite3 *db;
	int rc = 0;

	if (open_moment(path, &db, err))
		return -1;
	for (size_t i = 0; !rc && i < sizeof(tables) / sizeof(tables[0]); i++)
		rc = export_table(db, path, tables[i].query, tables[i].kind, since_unix, out, err);
	sqlite3_close(db);
	return rc;
}
