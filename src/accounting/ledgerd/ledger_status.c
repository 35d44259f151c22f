/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts what the ledger has, and what was turned away. */
#include "accounting/ledgerd/ledger_impl.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

json_t *ledger_counts(struct ledger *l, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_COUNTS];
	json_t *counts = NULL;

	if (sqlite3_step(st) == SQLITE_ROW)
		counts = json_pack("{s:i, s:I, s:I, s:I}", "schema", LEDGER_SCHEMA, "records",
			(json_int_t)sqlite3_column_int64(st, 0), "settlements",
			(json_int_t)sqlite3_column_int64(st, 1), "events",
			(json_int_t)sqlite3_column_int64(st, 2));
	else
		ledger_db_failed(l, "count", err);
	sqlite3_reset(st);
	return counts;
}

void ledger_head(const struct ledger *l, int64_t *id, char hash[LEDGER_HASH_SIZE])
{
	*id = l->last_event;
	memcpy(hash, l->last_hash, sizeof(l->last_hash));
}

bool ledger_damaged(const struct ledger *l)
{
	return l->damaged;
}

int ledger_count_set_aside(const struct ledger *l)
{
	const char *path = sqlite3_db_filename(l->db, "main");
	char pattern[4096];
	glob_t found = {0};
	int n = 0;

	/* A ledger in memory has no name. A file that was set aside has a name that ends with the
	 * time; the names of the log's files beside it do not. */
	if (!path || !*path ||
		(size_t)snprintf(pattern, sizeof(pattern), "%s.damaged-*[0-9]", path) >=
			sizeof(pattern))
		return 0;
	if (!glob(pattern, GLOB_NOSORT, NULL, &found))
		n = (int)found.gl_pathc;
	globfree(&found);
	return n;
}

int ledger_count_refusals(
	struct ledger *l, const char *kind, uint64_t n, int64_t now, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_REFUSED];

	sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, (int64_t)n);
	sqlite3_bind_int64(st, 3, now);
	return ledger_run(l, S_REFUSED, "count", err);
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
	ledger_db_failed(l, "read what was refused", err);
	json_decref(all);
	return NULL;
}
