/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ledger's file: copies, taken while it is written to without pause and put in its place, and
 * damage that is met at work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>

#include "accounting/ledgerd/ledger.h"
#include "accounting/ledgerd/ledger_file.h"
#include "unit/accounting/ledger_fixture.h"

/* So much that a copy in pieces would take several, each longer than the writer pauses. */
#define FILLING_MIB 24
#define NAME_QUERY "SELECT value FROM meta WHERE key = 'id'"

static void make_ledger(const char *at)
{
	struct errmsg err = {""};
	struct ledger *l = ledger_open(at, aside, sizeof(aside), &err);

	if (!l)
		fail_msg("%s", err.text);
	assert_string_equal(aside, "");
	ledger_close(l);
}

static void run(const char *file, const char *statements)
{
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	if (sqlite3_exec(db, statements, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(db);
}

static void ask(const char *file, const char *query, char *answer, size_t size)
{
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	snprintf(answer, size, "%s", (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	sqlite3_close(db);
}

/* The nodes send what they have kept to a ledger whose name they do not know: an older copy is not
 * the one that has acknowledged it, however often it is put back. */
static void a_copy_is_another_ledger(void **state)
{
	char first[128], second[128], name[3][64];
	struct errmsg err = {""};

	(void)state;
	make_ledger(path);
	snprintf(first, sizeof(first), "%s/first", dir);
	snprintf(second, sizeof(second), "%s/second", dir);
	assert_int_equal(ledger_file_backup(path, first, &err), 0);
	assert_int_equal(ledger_file_backup(first, second, &err), 0);
	ask(path, NAME_QUERY, name[0], sizeof(name[0]));
	ask(first, NAME_QUERY, name[1], sizeof(name[1]));
	ask(second, NAME_QUERY, name[2], sizeof(name[2]));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(strlen(name[i]), 32);
		assert_string_not_equal(name[i], name[(i + 1) % 3]);
	}
	/* It stays the one that it is. */
	make_ledger(second);
	ask(second, NAME_QUERY, name[0], sizeof(name[0]));
	assert_string_equal(name[0], name[2]);
}

static atomic_bool enough;
static atomic_int written;

static void *write_on(void *arg)
{
	sqlite3 *db;

	(void)arg;
	if (sqlite3_open(path, &db) != SQLITE_OK)
		return NULL;
	sqlite3_busy_timeout(db, 5000);
	sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
	while (!enough) {
		if (sqlite3_exec(db, "UPDATE meta SET value = value + 1 WHERE key = 'test'", NULL,
			    NULL, NULL) == SQLITE_OK)
			written++;
	}
	sqlite3_close(db);
	return NULL;
}

/* A busy cluster's ledger is written to all the time. SIGALRM ends a copy that is never done. */
static void a_ledger_in_use_can_be_copied(void **state)
{
	char to[128], text[64];
	struct errmsg err = {""};
	pthread_t writer;

	(void)state;
	make_ledger(path);
	run(path, "CREATE TABLE filling (body BLOB);"
		  "INSERT INTO meta VALUES ('test', 0);");
	for (int i = 0; i < FILLING_MIB; i++)
		run(path, "INSERT INTO filling VALUES (randomblob(1048576))");
	enough = false;
	written = 0;
	assert_int_equal(pthread_create(&writer, NULL, write_on, NULL), 0);
	while (written < 10)
		usleep(1000);
	alarm(60);
	snprintf(to, sizeof(to), "%s/copy", dir);
	if (ledger_file_backup(path, to, &err))
		fail_msg("%s", err.text);
	alarm(0);
	enough = true;
	pthread_join(writer, NULL);
	ask(to, "PRAGMA integrity_check", text, sizeof(text));
	assert_string_equal(text, "ok");
	ask(to, "SELECT count(*) FROM filling", text, sizeof(text));
	assert_int_equal(atoi(text), FILLING_MIB);
}

#define RECORDS 4000
#define PAGE 4096

/* It was sound when it was opened. Whoever runs it is told, and the next start begins a new one. */
static void damage_is_met_at_work(void **state)
{
	static const char filling[] =
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) "
		"INSERT INTO record SELECT 'c', i, 0, 'n1', 1000000, '', 1, 1, 1000, 0, 0, "
		"printf('{%.*c}', 3000, ' ') FROM n";
	char garbage[PAGE];
	struct errmsg err = {""};
	struct ledger *l;
	bool failed = false;
	FILE *file;
	long size;

	(void)state;
	make_ledger(path);
	run(path, filling);
	l = ledger_open(path, aside, sizeof(aside), &err);
	assert_non_null(l);
	file = fopen(path, "r+");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	assert_true(size > 2000L * RECORDS);
	memset(garbage, 0xa5, sizeof(garbage));
	for (long at = size / 4; at < size / 2; at += PAGE) {
		fseek(file, at / PAGE * PAGE, SEEK_SET);
		assert_int_equal(fwrite(garbage, PAGE, 1, file), 1);
	}
	fclose(file);
	assert_false(ledger_damaged(l));
	for (uint32_t job = 1; job <= RECORDS && !ledger_damaged(l); job++) {
		json_t *records = ledger_records(l, "c", job, 0, 1000000, NULL, &err);

		failed = !records;
		json_decref(records);
	}
	assert_true(failed);
	assert_true(ledger_damaged(l));
	ledger_close(l);
	l = ledger_open(path, aside, sizeof(aside), &err);
	assert_non_null(l);
	assert_string_not_equal(aside, "");
	assert_false(ledger_damaged(l));
	ledger_close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(a_copy_is_another_ledger),
		LEDGER_TEST(a_ledger_in_use_can_be_copied),
		LEDGER_TEST(damage_is_met_at_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
