/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores prices and their changes, each with its event in the log. */
#include "accounting/ledgerd/ledger_impl.h"

#include <stdlib.h>
#include <string.h>

#include "accounting/ledgerd/ledger_columns.h"

/* The changes that a statement gives, with its second and later columns as members of each. */
static json_t *list_changes(
	struct ledger *l, enum statement s, const char *what, struct errmsg *err)
{
	static const char *const names[] = {"body", "state", "time", "by_uid"};
	sqlite3_stmt *st = l->st[s];
	json_t *list = json_array();
	int step = SQLITE_ERROR;

	while (list && (step = sqlite3_step(st)) == SQLITE_ROW) {
		json_t *json = ledger_column_json(st, 0, err);

		for (int i = 1; i < sqlite3_column_count(st); i++)
			json_object_set_new(
				json, names[i], json_integer(sqlite3_column_int64(st, i)));
		if (json_array_append_new(list, json))
			break;
	}
	sqlite3_reset(st);
	if (step == SQLITE_DONE)
		return list;
	if (!list)
		errmsg_set(err, "out of memory");
	else if (step != SQLITE_ROW)
		ledger_db_failed(l, what, err);
	json_decref(list);
	return NULL;
}

json_t *ledger_changes(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, struct errmsg *err)
{
	ledger_bind_run(l->st[S_CHANGED], cluster, job_id, restart, 1);
	sqlite3_bind_int64(l->st[S_CHANGED], 4, start_unix);
	return list_changes(l, S_CHANGED, "read changes", err);
}

json_t *ledger_waiting_changes(struct ledger *l, const char *cluster, int max, struct errmsg *err)
{
	sqlite3_bind_text(l->st[S_WAITING], 1, cluster, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int(l->st[S_WAITING], 2, max);
	return list_changes(l, S_WAITING, "list changes", err);
}

/* The settlement as it was made, without later changes. Returns as ledger_settlement(). */
static int first_settlement(struct ledger *l, const char *cluster, uint32_t job_id,
	uint32_t restart, int64_t start_unix, struct settlement *s, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_SETTLEMENT];
	int rc, step;

	ledger_bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_int64(st, 4, start_unix);
	step = sqlite3_step(st);
	if (step == SQLITE_ROW) {
		json_t *json = ledger_column_json(st, 0, err);

		rc = json && !settlement_from_json(json, s, err) ? 1 : -1;
		json_decref(json);
	} else {
		rc = step == SQLITE_DONE ? 0 : ledger_db_failed(l, "read a settlement", err);
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

/* Within a transaction: appends an event to the log. */
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
	ledger_bind_run(st, s->cluster, s->job_id, s->restart, 4);
	sqlite3_bind_int64(st, 7, by);
	sqlite3_bind_text(st, 8, body, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 9, hash, -1, SQLITE_STATIC);
	if (ledger_run(l, S_EVENT, "store an event", err))
		return -1;
	l->last_event = e.id;
	memcpy(l->last_hash, hash, sizeof(hash));
	return 0;
}

/* Within a transaction: marks the records of the run as settled. */
static int mark_settled(struct ledger *l, const struct settlement *s, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_SETTLED];

	ledger_bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int64(st, 5, s->end_unix);
	sqlite3_bind_int(st, 6, LEDGER_CLOCK_SLACK_S);
	return ledger_run(l, S_SETTLED, "mark records", err);
}

static char *body_of(json_t *json, struct errmsg *err)
{
	char *body = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (!body)
		errmsg_set(err, "settlement: out of memory, or a text that is not UTF-8");
	return body;
}

/* Within a transaction. Returns 1 where it was stored, 0 where the run had one, -1 with err. */
static int insert_settlement(struct ledger *l, const struct settlement *s, const char *kind,
	uint32_t by, struct errmsg *err)
{
	char *body = body_of(settlement_to_json(s), err);
	sqlite3_stmt *st = l->st[S_SETTLE];
	int rc;

	if (!body)
		return -1;
	columns_bind(st, &settlement_fields, s);
	sqlite3_bind_text(st, sqlite3_bind_parameter_index(st, ":body"), body, -1, SQLITE_STATIC);
	rc = ledger_run(l, S_SETTLE, "store a settlement", err);
	if (!rc && sqlite3_changes(l->db) > 0)
		rc = append_event(l, s->settled_unix, kind, s, by, body, err) ||
				     ledger_learn(l, s, err) || mark_settled(l, s, err)
			     ? -1
			     : 1;
	free(body);
	return rc;
}

static int settle_as(struct ledger *l, const struct settlement *s, const char *kind, uint32_t by,
	struct settlement *stored, struct errmsg *err)
{
	int rc;

	if (ledger_begin(l, err))
		return -1;
	rc = insert_settlement(l, s, kind, by, err);
	if (rc < 0) {
		ledger_take_back(l);
		return -1;
	}
	if (ledger_end(l, err))
		return -1;
	if (rc)
		*stored = *s;
	else if (ledger_settlement(
			 l, s->cluster, s->job_id, s->restart, s->start_unix, stored, err) != 1)
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

/* Whether the change s may follow the settlement `now`: 1, or 0 with err. */
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
	ledger_bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int(st, 5, s->changes);
	sqlite3_bind_int64(st, 6, now);
	sqlite3_bind_int64(st, 7, by);
	sqlite3_bind_text(st, 8, body, -1, SQLITE_STATIC);
	rc = ledger_run(l, S_CHANGE, "store a change", err) ||
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

	if (ledger_begin(l, err))
		return -1;
	rc = ledger_settlement(l, s->cluster, s->job_id, s->restart, s->start_unix, &old, err);
	if (rc == 0)
		errmsg_set(err, "job %u: that run has no settlement", s->job_id);
	if (rc == 1)
		rc = may_follow(s, &old, err);
	if (rc == 1)
		rc = insert_change(l, s, &old, reason, by, now, err);
	if (rc != 1) {
		ledger_take_back(l);
		return rc;
	}
	return ledger_end(l, err) ? -1 : 1;
}

int ledger_change_state(struct ledger *l, const struct settlement *s,
	enum ledger_change_state state, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_STATE];

	ledger_bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int(st, 5, s->changes);
	sqlite3_bind_int(st, 6, (int)state);
	return ledger_run(l, S_STATE, "mark a change", err) ? -1 : sqlite3_changes(l->db) > 0;
}
