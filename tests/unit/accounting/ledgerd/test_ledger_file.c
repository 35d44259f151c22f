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

/* A ledger with two records and a settlement, still open. */
static struct ledger *filled_ledger(void)
{
	struct ledger_record r[] = {record_of(5, "n1", 1), record_of(5, "n2", 1)};
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	assert_int_equal(ledger_put(l, r, 2, "", NULL, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	return l;
}

static void check_finds_faults(void **state)
{
	/* What is done to the file, and what the fault's line says. */
	static const char *const harm[][2] = {
		{"DROP TRIGGER settlement_unchanged", "the trigger settlement_unchanged"},
		{"UPDATE settlement SET charged = 1", "settlement of job 5 restart 0: its body"},
		{"UPDATE settlement SET charged = 3600, body = replace(body, '3600', '3601')",
			"0 events"},
		{"UPDATE record SET uid = 7 WHERE node = 'n2'", "node n2: its body"},
		{"UPDATE record SET body = '{' WHERE node = 'n1'", "node n1: its body is damaged"},
		{"DROP TRIGGER settlement_kept; DELETE FROM settlement",
			"1 settlements that the log of events names"}};
	struct ledger_check found;
	struct errmsg err = {""};

	(void)state;
	ledger_close(filled_ledger());
	found = check_ledger(path);
	assert_int_equal(found.faults, 0);
	assert_int_equal(found.records, 2);
	assert_int_equal(found.settlements, 1);
	assert_int_equal(found.events, 1);
	for (size_t i = 0; i < sizeof(harm) / sizeof(harm[0]); i++) {
		change_ledger(harm[i][0]);
		assert_true(check_ledger(path).faults > 0);
		if (!strstr(fault_lines, harm[i][1]))
			fail_msg("%s: %s", harm[i][0], fault_lines);
	}
	assert_int_equal(
		ledger_file_check("/nonexistent", NULL, &found, note_fault, NULL, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent"));
}

static void backup_of_an_open_ledger(void **state)
{
	struct ledger *l = filled_ledger();
	struct errmsg err = {""};
	char to[128];

	(void)state;
	snprintf(to, sizeof(to), "%s/backup", dir);
	assert_int_equal(ledger_file_backup(path, to, &err), 0);
	assert_int_equal(check_ledger(to).faults, 0);
	/* What is there already is not replaced. */
	assert_int_equal(ledger_file_backup(path, to, &err), -1);
	assert_non_null(strstr(err.text, to));
	ledger_close(l);
	unlink(path);
	assert_int_equal(rename(to, path), 0);
	l = open_ledger();
	assert_int_equal(count_records(l, 5, 0, NULL), 2);
	ledger_close(l);
}

static void export_is_lines_of_json(void **state)
{
	struct ledger *l = filled_ledger();
	struct errmsg err = {""};
	char *text = NULL, *save = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int lines = 0;

	(void)state;
	assert_int_equal(ledger_file_export(path, 0, out, &err), 0);
	fclose(out);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *json = json_loads(line, 0, NULL);

		assert_non_null(json_string_value(json_object_get(json, "kind")));
		assert_int_equal(json_integer_value(json_object_get(json, "job")), 5);
		json_decref(json);
		lines++;
	}
	assert_int_equal(lines, 4);
	free(text);
	out = open_memstream(&text, &size);
	assert_int_equal(ledger_file_export(path, 3000000, out, &err), 0);
	fclose(out);
	assert_string_equal(text, "");
	free(text);
	ledger_close(l);
}

/* Whoever can write the file and knows how hashes are made cannot hide it from who noted one. */
static void log_cannot_be_rewritten(void **state)
{
	static const char *const harm[][2] = {
		{"UPDATE event SET by_uid = 7 WHERE id = 2", "event 2 of the log is not"},
		{"UPDATE event SET by_uid = 64 WHERE id = 2; DELETE FROM event WHERE id = 1",
			"event 2 follows event 0"},
	};
	struct ledger *l = open_ledger();
	struct ledger_check found;
	struct ledger_anchor anchor;
	struct errmsg err = {""};

	(void)state;
	for (uint32_t job = 1; job <= 3; job++) {
		struct settlement s = settlement_of(job, 3600), got;

		assert_int_equal(ledger_settle(l, &s, 64, &got, &err), 1);
	}
	ledger_head(l, &anchor.event, anchor.hash);
	assert_int_equal(anchor.event, 3);
	ledger_close(l);
	found = check_ledger(path);
	assert_int_equal(found.faults, 0);
	assert_string_equal(found.hash, anchor.hash);
	change_ledger("DROP TRIGGER event_kept; DROP TRIGGER event_unchanged");
	for (size_t i = 0; i < sizeof(harm) / sizeof(harm[0]); i++) {
		change_ledger(harm[i][0]);
		check_ledger(path);
		if (!strstr(fault_lines, harm[i][1]))
			fail_msg("%s: %s", harm[i][0], fault_lines);
	}
	/* A log that was made anew is sound in itself, but not with the anchor. */
	unlink(path);
	l = open_ledger();
	for (uint32_t job = 1; job <= 3; job++) {
		struct settlement s = settlement_of(job, 3601), got;

		assert_int_equal(ledger_settle(l, &s, 64, &got, &err), 1);
	}
	ledger_close(l);
	fault_lines[0] = '\0';
	assert_int_equal(ledger_file_check(path, NULL, &found, note_fault, NULL, &err), 0);
	assert_int_equal(found.faults, 0);
	assert_int_equal(ledger_file_check(path, &anchor, &found, note_fault, NULL, &err), 0);
	assert_int_equal(found.faults, 1);
	anchor.event = 4;
	assert_int_equal(ledger_file_check(path, &anchor, &found, note_fault, NULL, &err), 0);
	assert_int_equal(found.faults, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(a_copy_is_another_ledger),
		LEDGER_TEST(a_ledger_in_use_can_be_copied),
		LEDGER_TEST(damage_is_met_at_work),
		LEDGER_TEST(check_finds_faults),
		LEDGER_TEST(backup_of_an_open_ledger),
		LEDGER_TEST(export_is_lines_of_json),
		LEDGER_TEST(log_cannot_be_rewritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
