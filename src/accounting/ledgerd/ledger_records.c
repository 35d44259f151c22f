/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores the nodes' records, finds those of a run, and notes which of them do not count. */
#include "accounting/ledgerd/ledger_impl.h"

#include <stdio.h>
#include <stdlib.h>

#include "accounting/ledgerd/ledger_columns.h"
#include "accounting/record/origin.h"

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
	columns_bind(st, &record_fields, r);
	sqlite3_bind_text(st, sqlite3_bind_parameter_index(st, ":body"), body, -1, SQLITE_STATIC);
	sqlite3_bind_text(
		st, sqlite3_bind_parameter_index(st, ":origin"), origin, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, sqlite3_bind_parameter_index(st, ":slack"), LEDGER_CLOCK_SLACK_S);
	rc = ledger_run(l, S_PUT, "store a record", err);
	if (!rc && stored)
		*stored = sqlite3_changes(l->db) > 0;
	free(body);
	return rc;
}

int ledger_put(struct ledger *l, const struct ledger_record *records, int n, const char *origin,
	bool *stored, struct errmsg *err)
{
	if (ledger_begin(l, err))
		return -1;
	for (int i = 0; i < n; i++)
		if (put_one(l, &records[i], origin, stored ? &stored[i] : NULL, err)) {
			ledger_take_back(l);
			return -1;
		}
	return ledger_end(l, err);
}

/* Binds a part to the parameters first and first + 1. A part without an end gets the last character
 * of Unicode as its end: no name comes after it. */
static void bind_part(sqlite3_stmt *st, const struct ledger_part *part, int first)
{
	const char *upto = part && part->upto ? part->upto : "\xf4\x8f\xbf\xbf";

	sqlite3_bind_text(st, first, part ? part->after : "", -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(st, first + 1, upto, -1, SQLITE_TRANSIENT);
}

int ledger_part_end(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	const char *after, int count, char node[64], struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_PART_END];
	int step, rows = 0;

	ledger_bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_text(st, 4, after, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int(st, 5, count - 1);
	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);

		if (!rows++)
			snprintf(node, 64, "%s", name ? name : "");
	}
	if (step != SQLITE_DONE)
		rows = ledger_db_failed(l, "read records", err);
	sqlite3_reset(st);
	return rows < 0 ? -1 : rows == 2;
}

/* Whether two records are of the same node and of the same run. */
static bool of_same_node(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "node"), json_object_get(b, "node")) &&
	       json_equal(json_object_get(a, "start"), json_object_get(b, "start"));
}

json_t *ledger_records(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, const struct ledger_part *part, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_RECORDS];
	json_t *list = json_array(), *record = list;
	int step = SQLITE_ERROR;

	ledger_bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_int64(st, 4, start_unix ? start_unix - LEDGER_CLOCK_SLACK_S : 0);
	sqlite3_bind_int64(st, 5, start_unix);
	bind_part(st, part, 6);
	while (record && (step = sqlite3_step(st)) == SQLITE_ROW) {
		const json_t *last = json_array_get(list, json_array_size(list) - 1);

		record = ledger_column_json(st, 0, err);
		if (record && last && of_same_node(record, last))
			json_decref(record);
		else if (record)
			json_array_append_new(list, record);
	}
	if (!list)
		errmsg_set(err, "out of memory");
	else if (record && step != SQLITE_DONE)
		ledger_db_failed(l, "read records", err);
	sqlite3_reset(st);
	if (step == SQLITE_DONE)
		return list;
	json_decref(list);
	return NULL;
}

/* A record of the run, and whether it must be left out from now on. */
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

	ledger_bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_text(st, 4, v->node, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 5, v->start);
	sqlite3_bind_text(st, 6, v->origin, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 7, v->foreign);
	return ledger_run(l, S_FOREIGN, "mark a record", err);
}

int ledger_mark_foreign(struct ledger *l, const char *cluster, uint32_t job_id, uint32_t restart,
	int64_t start_unix, const struct ledger_part *part, const json_t *nodes,
	ledger_foreign_fn fn, void *arg, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_ORIGINS];
	struct verdict *changed = NULL, *v;
	int step, found = 0, rc = 0;

	ledger_bind_run(st, cluster, job_id, restart, 1);
	sqlite3_bind_int64(st, 4, start_unix ? start_unix - LEDGER_CLOCK_SLACK_S : 0);
	bind_part(st, part, 5);
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
		rc = ledger_db_failed(l, "read records", err);
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
		ledger_db_failed(l, "list unsettled runs", err);
		json_decref(list);
		return NULL;
	}
	return list;
}

int ledger_prune(struct ledger *l, int64_t before_unix, int max, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_PRUNE];

	sqlite3_bind_int64(st, 1, before_unix);
	sqlite3_bind_int(st, 2, max);
	sqlite3_bind_int(st, 3, LEDGER_CLOCK_SLACK_S);
	return ledger_run(l, S_PRUNE, "remove old records", err) ? -1 : sqlite3_changes(l->db);
}
