/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/ledger_columns.c, with a database in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "accounting/ledgerd/ledger_columns.h"

struct sample {
	bool whole;
	double share;
	uint32_t id;
	char name[8];
	int64_t seq;
};

#define AT(member) FIELD_AT(struct sample, member)
/* Not in the order of their kinds. */
static const struct field rows[] = {
	{"whole", FIELD_BOOL, AT(whole), .column = FIELD_FIXED},
	{"share", FIELD_REAL, AT(share)},
	{"name", FIELD_TEXT, AT(name), .column = FIELD_KEY},
	{"seq", FIELD_INT, AT(seq), .column = FIELD_NEWEST},
	{"number", FIELD_INT, AT(id), .column = FIELD_KEY, .column_name = "id"},
};
static const struct field_table table = {"sample", rows, sizeof(rows) / sizeof(rows[0])};

static void assert_sql(const char *pattern, const char *sql)
{
	char *text = columns_sql(pattern, &table);

	assert_string_equal(text, sql);
	sqlite3_free(text);
}

static void lists_of_columns(void **state)
{
	(void)state;
	assert_sql("SELECT 1", "SELECT 1");
	assert_sql("{k:$}", "name, id");
	assert_sql("({n:$ # NOT NULL}, {f:t.$ = ?})", "(seq INTEGER NOT NULL, t.whole = ?)");
	assert_sql("{a:$ #};", "name TEXT, id INTEGER, seq INTEGER, whole INTEGER;");
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *pattern)
{
	char *sql = columns_sql(pattern, &table);
	sqlite3_stmt *st = NULL;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	sqlite3_free(sql);
	return st;
}

static void run(sqlite3_stmt *st)
{
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_finalize(st);
}

static void written_and_compared(void **state)
{
	const struct sample s = {true, 0.5, UINT32_MAX, "seven77", -9};
	struct sample other[4] = {s, s, s, s};
	sqlite3_stmt *st;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	run(prepare(db, "CREATE TABLE t ({a:$ #})"));
	st = prepare(db, "INSERT INTO t ({a:$}) VALUES ({a::$})");
	columns_bind(st, &table, &s);
	run(st);
	/* A statement may have some of the parameters only, and others besides. */
	st = prepare(db, "SELECT {k:$}, {n:$}, {f:$}, 7 AS other FROM t WHERE id = :id AND 1 = :x");
	columns_bind(st, &table, &s);
	assert_int_equal(sqlite3_bind_int(st, sqlite3_bind_parameter_index(st, ":x"), 1), 0);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(st, 0), "seven77");
	assert_true(sqlite3_column_int64(st, 1) == UINT32_MAX);
	assert_int_equal(sqlite3_column_int64(st, 2), -9);
	assert_int_equal(sqlite3_column_int64(st, 3), 1);
	assert_true(columns_agree(st, &table, &s));
	other[0].name[0] = 'S';
	other[1].id--;
	other[2].seq++;
	other[3].whole = false;
	for (int i = 0; i < 4; i++)
		assert_false(columns_agree(st, &table, &other[i]));
	/* What is no column is not compared. */
	other[0] = s;
	other[0].share = 0.25;
	assert_true(columns_agree(st, &table, &other[0]));
	sqlite3_finalize(st);
	/* A text that is missing agrees with no text. */
	st = prepare(db, "SELECT NULL AS name");
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_false(columns_agree(st, &table, &(struct sample){.name = ""}));
	sqlite3_finalize(st);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_columns),
		cmocka_unit_test(written_and_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
