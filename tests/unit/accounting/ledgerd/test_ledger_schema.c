/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/ledger_schema.c: tables, and the chain of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>
#include <sqlite3.h>

#include "accounting/ledgerd/ledger.h"
#include "unit/accounting/ledger_fixture.h"

/* A file of any other schema than today's. */
static void other_schema_is_left_alone(void **state)
{
	static const char *const other[][2] = {
		{"PRAGMA user_version = 999", "999"}, {"PRAGMA user_version = 2", "schema 2"}};

	(void)state;
	ledger_close(open_ledger());
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		struct errmsg err = {""};
		sqlite3 *db;

		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		sqlite3_exec(db, other[i][0], NULL, NULL, NULL);
		sqlite3_close(db);
		assert_null(ledger_open(path, aside, sizeof(aside), &err));
		assert_non_null(strstr(err.text, other[i][1]));
		assert_string_equal(aside, "");
		assert_int_equal(access(path, F_OK), 0);
	}
}

static void events_are_append_only(void **state)
{
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	sqlite3 *db;

	(void)state;
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	ledger_close(l);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "DELETE FROM event", NULL, NULL, NULL), SQLITE_CONSTRAINT);
	assert_int_equal(sqlite3_exec(db, "UPDATE event SET body = ''", NULL, NULL, NULL),
		SQLITE_CONSTRAINT);
	sqlite3_close(db);
}

/* The hash of an event depends on all of it, and on the event before it. */
static void hash_of_an_event(void **state)
{
	const struct ledger_event e = {2, 1700000000, "settled", "c", 5, 1, 64, "{}"};
	struct ledger_event other[] = {e, e, e, e, e, e, e, e};
	char hash[LEDGER_HASH_SIZE], another[LEDGER_HASH_SIZE];

	(void)state;
	assert_int_equal(ledger_event_hash("", &e, hash), 0);
	/* printf '["",2,1700000000,"settled","c",5,1,64,"{}"]' | sha256sum */
	assert_string_equal(
		hash, "d88f6cb3119d4092e49a2a88fd56c82406483c02d8bc865e124b9abdf6bf3a9f");
	assert_int_equal(ledger_event_hash("0", &e, another), 0);
	assert_string_not_equal(hash, another);
	other[0].id++;
	other[1].unix_s++;
	other[2].kind = "changed";
	other[3].cluster = "d";
	other[4].job++;
	other[5].restart++;
	other[6].by_uid++;
	other[7].body = "{ }";
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		assert_int_equal(ledger_event_hash("", &other[i], another), 0);
		assert_string_not_equal(hash, another);
	}
	other[0].body = "\xff";
	assert_int_equal(ledger_event_hash("", &other[0], another), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(other_schema_is_left_alone),
		LEDGER_TEST(events_are_append_only),
		cmocka_unit_test(hash_of_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
