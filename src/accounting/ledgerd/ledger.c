/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the ledger's database, and begins and ends its transactions. */
#include "accounting/ledgerd/ledger_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "accounting/ledgerd/ledger_columns.h"
#include "accounting/ledgerd/ledger_schema.h"

/* The records of a run that ran from ?4 to ?5, give or take ?6. After a crash slurmctld may give a
 * job id again. Of a node's records in that time the one that began nearest to the start of the run
 * is the run's. */
#define OF_RUN                                                                                     \
	"cluster = ?1 AND job = ?2 AND restart = ?3 AND start BETWEEN ?4 - ?6 AND ?5 + ?6"         \
	" AND NOT EXISTS (SELECT 1 FROM record n WHERE n.cluster = record.cluster"                 \
	" AND n.job = record.job AND n.restart = record.restart AND n.node = record.node"          \
	" AND NOT n.foreign_node AND abs(n.start - ?4) < abs(record.start - ?4))"

static const char *const sql[S_COUNT] = {
	[S_BEGIN] = "BEGIN IMMEDIATE",
	[S_COMMIT] = "COMMIT",
	[S_ROLLBACK] = "ROLLBACK",
	[S_SAVE] = "SAVEPOINT request",
	[S_RELEASE] = "RELEASE request",
	[S_BACK] = "ROLLBACK TO request",
	[S_PUT] = "INSERT INTO record ({a:$}, body, origin, settled, foreign_node)"
		  " VALUES ({a::$}, :body, :origin,"
		  " EXISTS (SELECT 1 FROM settlement s WHERE s.cluster = :cluster AND s.job = :job"
		  " AND s.restart = :restart"
		  " AND :start BETWEEN s.start - :slack AND s.finish + :slack"
		  " AND NOT EXISTS (SELECT 1 FROM record n WHERE n.cluster = :cluster"
		  " AND n.job = :job AND n.restart = :restart AND n.node = :node"
		  " AND NOT n.foreign_node AND abs(n.start - s.start) < abs(:start - s.start))), 0)"
		  " ON CONFLICT ({k:$}, origin) DO UPDATE SET {n:$ = excluded.$},"
		  " body = excluded.body"
		  " WHERE (excluded.seq > record.seq OR excluded.final) AND NOT record.final"
		  " AND excluded.uid = record.uid",
	/* Of the records in one node's name from several addresses the best one comes first. */
	[S_RECORDS] = "SELECT body FROM record WHERE cluster = ?1 AND job = ?2 AND restart = ?3"
		      " AND start >= ?4 AND NOT foreign_node AND node > ?6 AND node <= ?7"
		      " AND NOT EXISTS (SELECT 1 FROM settlement s WHERE ?5 <> 0 AND s.cluster = ?1"
		      " AND s.job = ?2 AND s.restart = ?3 AND s.start <> ?5"
		      " AND abs(record.start - s.start) < abs(record.start - ?5))"
		      " ORDER BY node, start, final DESC, seq DESC",
	[S_ORIGINS] = "SELECT node, start, origin, foreign_node FROM record WHERE cluster = ?1"
		      " AND job = ?2 AND restart = ?3 AND start >= ?4"
		      " AND node > ?5 AND node <= ?6",
	[S_PART_END] = "SELECT DISTINCT node FROM record WHERE cluster = ?1 AND job = ?2"
		       " AND restart = ?3 AND node > ?4 ORDER BY node LIMIT 2 OFFSET ?5",
	[S_FOREIGN] = "UPDATE record SET foreign_node = ?7 WHERE cluster = ?1 AND job = ?2"
		      " AND restart = ?3 AND node = ?4 AND start = ?5 AND origin = ?6",
	[S_SETTLE] = "INSERT INTO settlement ({a:$}, body) VALUES ({a::$}, :body)"
		     " ON CONFLICT DO NOTHING",
	[S_SETTLEMENT] = "SELECT body FROM settlement WHERE cluster = ?1 AND job = ?2"
			 " AND restart = ?3 AND (?4 = 0 OR start = ?4) ORDER BY start DESC LIMIT 1",
	[S_SETTLED] = "UPDATE record SET settled = 1 WHERE " OF_RUN,
	[S_TOLD] = "SELECT body FROM record WHERE " OF_RUN
		   " AND final AND NOT settled AND NOT foreign_node ORDER BY node LIMIT ?7",
	[S_VOTE] = "SELECT none, narrow, wide, told FROM slow_vote WHERE node_type = ?1"
		   " AND uid = ?2",
	[S_VOTES] = "SELECT none, narrow, wide, told FROM slow_vote WHERE node_type = ?1 LIMIT ?2",
	[S_SET_VOTE] = "INSERT OR REPLACE INTO slow_vote"
		       " (node_type, uid, none, narrow, wide, told, used)"
		       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[S_DROP_VOTE] = "DELETE FROM slow_vote WHERE node_type = ?1 AND uid IN (SELECT uid"
			" FROM slow_vote WHERE node_type = ?1 ORDER BY used DESC, uid"
			" LIMIT -1 OFFSET ?2)",
	[S_PRIOR] = "SELECT none, narrow, wide FROM slow_prior WHERE node_type = ?1",
	[S_SET_PRIOR] = "INSERT OR REPLACE INTO slow_prior (node_type, none, narrow, wide, used)"
			" VALUES (?1, ?2, ?3, ?4, ?5)",
	[S_DROP_PRIOR] = "DELETE FROM slow_prior WHERE node_type IN (SELECT node_type"
			 " FROM slow_prior ORDER BY used DESC, node_type LIMIT -1 OFFSET ?1)",
	[S_ORPHANS] = "DELETE FROM slow_vote WHERE node_type NOT IN"
		      " (SELECT node_type FROM slow_prior)",
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
		" AND r.start BETWEEN s.start - ?3 AND s.finish + ?3)"
		" AND (settled OR foreign_node OR NOT final) LIMIT ?2)",
};

/* Anybody may ask how many rows there are, at any rate. So rows are counted once, at the start;
 * after that, triggers count within the transactions that add and remove rows. */
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

int ledger_db_failed(struct ledger *l, const char *what, struct errmsg *err)
{
	int code = sqlite3_errcode(l->db) & 0xff;

	l->damaged |= code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
	return errmsg_set(err, "ledger: cannot %s: %s", what, sqlite3_errmsg(l->db));
}

/*
 * Whether SQLite has taken the group's transaction back, for example on a full disk. No further
 * call of the group may then begin another one: the group would seem to end well without its first
 * part.
 */
static bool is_taken_back(const struct ledger *l)
{
	return l->grouped && sqlite3_get_autocommit(l->db);
}

static int taken_back(struct errmsg *err)
{
	return errmsg_set(err, "ledger: what was to be stored has been taken back");
}

int ledger_run(struct ledger *l, enum statement s, const char *what, struct errmsg *err)
{
	int rc;

	if (is_taken_back(l))
		rc = taken_back(err);
	else
		rc = sqlite3_step(l->st[s]) == SQLITE_DONE ? 0 : ledger_db_failed(l, what, err);
	sqlite3_reset(l->st[s]);
	sqlite3_clear_bindings(l->st[s]);
	return rc;
}

void ledger_bind_run(
	sqlite3_stmt *st, const char *cluster, uint32_t job_id, uint32_t restart, int first)
{
	sqlite3_bind_text(st, first, cluster, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(st, first + 1, job_id);
	sqlite3_bind_int64(st, first + 2, restart);
}

json_t *ledger_column_json(sqlite3_stmt *st, int column, struct errmsg *err)
{
	const char *text = (const char *)sqlite3_column_text(st, column);
	json_error_t why;
	json_t *json = text ? json_loads(text, 0, &why) : NULL;

	if (!json)
		errmsg_set(err, "ledger: a row is damaged: %s", text ? why.text : "it is empty");
	return json;
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
	return step == SQLITE_ROW || step == SQLITE_DONE ? 0
							 : ledger_db_failed(l, "read events", err);
}

int ledger_begin(struct ledger *l, struct errmsg *err)
{
	return ledger_run(l, l->grouped ? S_SAVE : S_BEGIN, "begin", err);
}

void ledger_take_back(struct ledger *l)
{
	/* In autocommit mode SQLite has taken everything back already. */
	if (!sqlite3_get_autocommit(l->db)) {
		if (l->grouped)
			ledger_run(l, S_BACK, "roll back", NULL);
		ledger_run(l, l->grouped ? S_RELEASE : S_ROLLBACK, "roll back", NULL);
	}
	read_last_event(l, NULL);
}

int ledger_end(struct ledger *l, struct errmsg *err)
{
	if (!ledger_run(l, l->grouped ? S_RELEASE : S_COMMIT, "commit", err))
		return 0;
	ledger_take_back(l);
	return -1;
}

int ledger_group(struct ledger *l, struct errmsg *err)
{
	if (l->grouped)
		return 0;
	if (ledger_run(l, S_BEGIN, "begin", err))
		return -1;
	l->grouped = true;
	return 0;
}

int ledger_commit(struct ledger *l, struct errmsg *err)
{
	bool lost = !l->grouped || is_taken_back(l);

	l->grouped = false;
	if (!lost)
		return ledger_end(l, err);
	read_last_event(l, err);
	return taken_back(err);
}

/* Renames the file and the two files of its log. */
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
		char *text =
			columns_sql(sql[i], i == S_SETTLE ? &settlement_fields : &record_fields);

		rc = text ? sqlite3_prepare_v3(
				    l->db, text, -1, SQLITE_PREPARE_PERSISTENT, &l->st[i], NULL)
			  : SQLITE_NOMEM;
		sqlite3_free(text);
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
