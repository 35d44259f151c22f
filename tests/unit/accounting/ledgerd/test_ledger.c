/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the ledger's database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sqlite3.h>

#include "accounting/ledgerd/ledger.h"
#include "accounting/ledgerd/ledger_file.h"

#include "unit/accounting/ledger_fixture.h"

static int count_records(struct ledger *l, uint32_t job, int64_t start, int64_t *co_ns)
{
	struct ledger_record *records;
	int n;

	records = records_of(l, "c", job, 0, start, &n);
	if (n && co_ns)
		*co_ns = records[0].co_ns;
	free(records);
	return n;
}

/* Twice, late or out of order: the highest sequence number stays, and nothing follows a final one.
 */
static void newer_replaces_older(void **state)
{
	struct ledger_record r[] = {record_of(5, "n1", 3), record_of(5, "n1", 2),
		record_of(5, "n1", 3), record_of(5, "n2", 1)};
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	int64_t co_ns = 0;
	bool stored[4];

	(void)state;
	assert_int_equal(ledger_put(l, r, 4, "", stored, &err), 0);
	assert_true(stored[0] && !stored[1] && !stored[2] && stored[3]);
	assert_int_equal(count_records(l, 5, 0, &co_ns), 2);
	assert_int_equal(co_ns, 3000);
	r[0].seq = 1; /* from a poppad that was killed and went on from its checkpoint */
	r[0].final = true;
	r[0].co_ns = 4000;
	assert_int_equal(ledger_put(l, r, 1, "", stored, &err), 0);
	assert_true(stored[0]);
	r[0].seq = 9;
	r[0].final = false;
	r[0].co_ns = 9000;
	assert_int_equal(ledger_put(l, r, 1, "", stored, &err), 0);
	assert_false(stored[0]);
	/* Nobody takes over another user's record. */
	r[3].seq = 50;
	r[3].uid = 1001;
	assert_int_equal(ledger_put(l, r + 3, 1, "", stored, &err), 0);
	assert_false(stored[0]);
	ledger_close(l);
	l = open_ledger();
	assert_int_equal(count_records(l, 5, 0, &co_ns), 2);
	assert_int_equal(co_ns, 4000);
	assert_string_equal(aside, "");
	ledger_close(l);
}

/* The same job id a month later is another run; so is another restart, or another cluster. */
static void reused_job_id(void **state)
{
	struct ledger_record r[] = {record_of(5, "n1", 9), record_of(5, "n1", 1)};
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct ledger_record *records;
	struct errmsg err = {""};
	int n;

	(void)state;
	r[1].start_unix += 30 * 86400;
	assert_int_equal(ledger_put(l, r, 2, "", NULL, &err), 0);
	assert_int_equal(count_records(l, 5, 0, NULL), 2);
	assert_int_equal(count_records(l, 5, r[1].start_unix - 5, NULL), 1);
	/* A node's clock may be behind the controller's. */
	assert_int_equal(count_records(l, 5, r[0].start_unix + 100, NULL), 2);
	records = records_of(l, "c", 5, 1, 0, &n);
	assert_int_equal(n, 0);
	free(records);
	records = records_of(l, "d", 5, 0, 0, &n);
	assert_int_equal(n, 0);
	free(records);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	s.start_unix = r[1].start_unix;
	s.charged = 5000;
	assert_int_equal(ledger_settlement(l, "c", 5, 0, s.start_unix, &got, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(got.charged, 5000);
	assert_int_equal(ledger_settlement(l, "c", 5, 0, 1000000, &got, &err), 1);
	assert_int_equal(got.charged, 3600);
	assert_int_equal(ledger_settlement(l, "c", 5, 0, 0, &got, &err), 1);
	assert_int_equal(got.charged, 5000);
	ledger_close(l);
}

/* Two runs of one number, half a minute apart: each has the record that began nearest to it. */
static void forgotten_run(void **state)
{
	struct ledger_record r[] = {record_of(5, "n1", 1), record_of(5, "n1", 2)};
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	int64_t co_ns = 0;

	(void)state;
	r[1].start_unix += 30;
	assert_int_equal(ledger_put(l, r, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(count_records(l, 5, s.start_unix, &co_ns), 1);
	assert_int_equal(co_ns, 1000);
	assert_int_equal(count_records(l, 5, r[1].start_unix, NULL), 0);
	assert_int_equal(ledger_put(l, r + 1, 1, "", NULL, &err), 0);
	assert_int_equal(count_records(l, 5, r[1].start_unix + 2, &co_ns), 1);
	assert_int_equal(co_ns, 2000);
	s.start_unix = r[1].start_unix;
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(count_records(l, 5, r[0].start_unix, &co_ns), 1);
	assert_int_equal(co_ns, 1000);
	assert_int_equal(count_records(l, 5, 0, NULL), 2);
	ledger_close(l);
}

static void first_settlement_stays(void **state)
{
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	json_t *counts;

	(void)state;
	assert_int_equal(ledger_settlement(l, "c", 5, 0, 1000000, &got, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 64, &got, &err), 1);
	assert_int_equal(got.charged, 3600);
	s.charged = 10000;
	assert_int_equal(ledger_settle(l, &s, 64, &got, &err), 0);
	assert_int_equal(got.charged, 3600);
	assert_true(isnan(got.lo));
	counts = ledger_counts(l, &err);
	assert_int_equal(json_integer_value(json_object_get(counts, "settlements")), 1);
	assert_int_equal(json_integer_value(json_object_get(counts, "events")), 1);
	json_decref(counts);
	ledger_close(l);
}

static void unsettled_runs(void **state)
{
	struct ledger_record r[] = {record_of(5, "n1", 1), record_of(6, "n1", 1),
		record_of(7, "n1", 1), record_of(7, "n2", 1)};
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	json_t *list;

	(void)state;
	r[0].final = r[2].final = r[3].final = true;
	r[2].start_unix = r[3].start_unix = 999999;
	assert_int_equal(ledger_put(l, r, 4, "", NULL, &err), 0);
	list = ledger_unsettled(l, "c", 10, &err);
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "job")), 7);
	json_decref(list);
	list = ledger_unsettled(l, "c", 1, &err);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	list = ledger_unsettled(l, "c", 10, &err);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	ledger_close(l);
}

static size_t count_unsettled(struct ledger *l)
{
	struct errmsg err = {""};
	json_t *list = ledger_unsettled(l, "c", 10, &err);
	size_t n = json_array_size(list);

	json_decref(list);
	return n;
}

/* slurmctld that was killed has forgotten a run, and the job ran again: its price is not theirs. */
static void forgotten_runs_are_listed(void **state)
{
	struct ledger_record lost = record_of(5, "n1", 1), kept = record_of(5, "n1", 1),
			     late = record_of(5, "n1", 1), elsewhere = record_of(5, "n2", 1);
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	lost.final = kept.final = late.final = elsewhere.final = true;
	kept.start_unix = elsewhere.start_unix = s.start_unix;
	lost.start_unix = s.start_unix - 20;
	late.start_unix = s.start_unix - 40;
	assert_int_equal(ledger_put(l, &lost, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &kept, 1, "", NULL, &err), 0);
	assert_int_equal(count_unsettled(l), 1);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(count_unsettled(l), 1);
	/* Those that come later are told apart as well. */
	assert_int_equal(ledger_put(l, &elsewhere, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &late, 1, "", NULL, &err), 0);
	s.start_unix = lost.start_unix;
	s.end_unix = s.start_unix + 5;
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(count_unsettled(l), 1);
	s.start_unix = late.start_unix;
	s.end_unix = s.start_unix + 5;
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(count_unsettled(l), 0);
	ledger_close(l);
}

/* A batch goes in whole or not at all: a text that JSON cannot hold is not stored with others. */
static void batch_is_whole(void **state)
{
	struct ledger_record r[] = {record_of(5, "n1", 1), record_of(6, "n\xff", 1)};
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(ledger_put(l, r, 2, "", NULL, &err), -1);
	assert_true(*err.text);
	assert_int_equal(count_records(l, 5, 0, NULL), 0);
	assert_int_equal(ledger_put(l, r, 1, "", NULL, &err), 0);
	assert_int_equal(count_records(l, 5, 0, NULL), 1);
	ledger_close(l);
}

/* What ledger_put() has returned for is there after the process was killed. */
static void survives_kill(void **state)
{
	struct ledger *l;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct ledger_record r = record_of(5, "n1", 1);
		struct errmsg err;

		l = ledger_open(path, aside, sizeof(aside), &err);
		if (l && !ledger_put(l, &r, 1, "", NULL, &err))
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	l = open_ledger();
	assert_int_equal(count_records(l, 5, 0, NULL), 1);
	assert_string_equal(aside, "");
	ledger_close(l);
}

static void overwrite(long at, size_t size)
{
	char junk[4096];
	int fd = open(path, O_WRONLY);

	memset(junk, 0xa5, sizeof(junk));
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, junk, size, at), size);
	close(fd);
}

static void damaged_file_is_set_aside(void **state)
{
	struct ledger_record r = record_of(5, "n1", 1);
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(ledger_put(l, &r, 1, "", NULL, &err), 0);
	ledger_close(l);
	overwrite(0, 100);
	l = open_ledger();
	assert_true(*aside);
	assert_int_equal(access(aside, F_OK), 0);
	assert_int_equal(count_records(l, 5, 0, NULL), 0);
	assert_int_equal(ledger_put(l, &r, 1, "", NULL, &err), 0);
	ledger_close(l);
	unlink(aside);
	/* The header is sound, a page is not. */
	overwrite(4096, 2048);
	l = open_ledger();
	assert_true(*aside);
	ledger_close(l);
}

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

static void old_settled_records_go(void **state)
{
	struct ledger_record old = record_of(5, "n1", 1), unsettled = record_of(6, "n1", 1),
			     forgotten = record_of(5, "n1", 1);
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	old.final = unsettled.final = forgotten.final = true;
	/* Another run that slurmctld gave the same id, of the same minutes. */
	forgotten.start_unix = s.end_unix + 20;
	assert_int_equal(ledger_put(l, &forgotten, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &old, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &unsettled, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_prune(l, 2000000, 10, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	/* It ended at 1000100. */
	assert_int_equal(ledger_prune(l, 1000100, 10, &err), 0);
	assert_int_equal(ledger_prune(l, 1000101, 10, &err), 1);
	assert_int_equal(ledger_prune(l, 2000000, 10, &err), 0);
	assert_int_equal(count_records(l, 5, 0, NULL), 1);
	assert_int_equal(count_records(l, 6, 0, NULL), 1);
	assert_int_equal(count_unsettled(l), 2);
	assert_int_equal(ledger_settlement(l, "c", 5, 0, 0, &got, &err), 1);
	ledger_close(l);
}

static char faults[4096];

static void note_fault(const char *line, void *arg)
{
	(void)arg;
	strncat(faults, line, sizeof(faults) - strlen(faults) - 1);
	strncat(faults, "\n", sizeof(faults) - strlen(faults) - 1);
}

static struct ledger_check check(const char *file)
{
	struct ledger_check found;
	struct errmsg err = {""};

	faults[0] = '\0';
	if (ledger_file_check(file, NULL, &found, note_fault, NULL, &err))
		fail_msg("%s", err.text);
	return found;
}

static void change(const char *statements)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
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
	found = check(path);
	assert_int_equal(found.faults, 0);
	assert_int_equal(found.records, 2);
	assert_int_equal(found.settlements, 1);
	assert_int_equal(found.events, 1);
	for (size_t i = 0; i < sizeof(harm) / sizeof(harm[0]); i++) {
		change(harm[i][0]);
		assert_true(check(path).faults > 0);
		if (!strstr(faults, harm[i][1]))
			fail_msg("%s: %s", harm[i][0], faults);
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
	assert_int_equal(check(to).faults, 0);
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
	found = check(path);
	assert_int_equal(found.faults, 0);
	assert_string_equal(found.hash, anchor.hash);
	change("DROP TRIGGER event_kept; DROP TRIGGER event_unchanged");
	for (size_t i = 0; i < sizeof(harm) / sizeof(harm[0]); i++) {
		change(harm[i][0]);
		check(path);
		if (!strstr(faults, harm[i][1]))
			fail_msg("%s: %s", harm[i][0], faults);
	}
	/* A log that was made anew is sound in itself, but not with the anchor. */
	unlink(path);
	l = open_ledger();
	for (uint32_t job = 1; job <= 3; job++) {
		struct settlement s = settlement_of(job, 3601), got;

		assert_int_equal(ledger_settle(l, &s, 64, &got, &err), 1);
	}
	ledger_close(l);
	faults[0] = '\0';
	assert_int_equal(ledger_file_check(path, NULL, &found, note_fault, NULL, &err), 0);
	assert_int_equal(found.faults, 0);
	assert_int_equal(ledger_file_check(path, &anchor, &found, note_fault, NULL, &err), 0);
	assert_int_equal(found.faults, 1);
	anchor.event = 4;
	assert_int_equal(ledger_file_check(path, &anchor, &found, note_fault, NULL, &err), 0);
	assert_int_equal(found.faults, 1);
}

static void changes_of_a_price(void **state)
{
	struct settlement s = settlement_of(5, 3600), got, next;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	json_t *list;

	(void)state;
	assert_int_equal(settlement_read_comment(
				 "d=0.4000 ci=0.390..0.410 stopped=0.0000 raw=10000 charged=3600 "
				 "policy=thesis",
				 &s, &err),
		0);
	next = s;
	settlement_change(&next, 10000);
	assert_int_equal(ledger_change(l, &next, "none yet", 0, 2000000, &err), 0);
	assert_non_null(strstr(err.text, "no settlement"));
	assert_int_equal(ledger_settle(l, &s, 64, &got, &err), 1);
	assert_int_equal(ledger_change(l, &next, "wrong node", 0, 2000000, &err), 1);
	assert_int_equal(ledger_settlement(l, "c", 5, 0, 0, &got, &err), 1);
	assert_int_equal(got.charged, 10000);
	assert_int_equal(got.changes, 1);
	assert_string_equal(got.text, "d=0.4000 ci=0.390..0.410 stopped=0.0000 raw=10000 "
				      "charged=10000 policy=thesis changed=1");
	/* Somebody who has not seen that. */
	assert_int_equal(ledger_change(l, &next, "again", 0, 2000000, &err), 0);
	assert_non_null(strstr(err.text, "changed meanwhile"));
	assert_int_equal(settlement_change_degradation(&got, 0.2, &err), 0);
	assert_int_equal(got.charged, 6400);
	assert_string_equal(
		got.text, "d=0.2000 stopped=0.0000 raw=10000 charged=6400 policy=thesis changed=2");
	next = got;
	next.raw = 20000;
	assert_int_equal(ledger_change(l, &next, "more raw", 0, 2000001, &err), 0);
	assert_int_equal(ledger_change(l, &got, "right D", 64, 2000001, &err), 1);
	list = ledger_changes(l, "c", 5, 0, 1000000, &err);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "reason")),
		"wrong node");
	assert_int_equal(
		json_integer_value(json_object_get(json_array_get(list, 1), "by_uid")), 64);
	json_decref(list);
	/* slurmctld learns of the last one, and takes it once. */
	list = ledger_waiting_changes(l, "c", 10, &err);
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(
		settlement_from_json(
			json_object_get(json_array_get(list, 0), "settlement"), &next, &err),
		0);
	assert_int_equal(next.charged, 6400);
	json_decref(list);
	assert_int_equal(ledger_change_state(l, &next, LEDGER_CHANGE_TAKEN, &err), 1);
	assert_int_equal(ledger_change_state(l, &next, LEDGER_CHANGE_TAKEN, &err), 0);
	assert_int_equal(ledger_change_state(l, &next, LEDGER_CHANGE_WRITTEN, &err), 1);
	list = ledger_waiting_changes(l, "c", 10, &err);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	ledger_close(l);
	if (check(path).faults)
		fail_msg("%s", faults);
	assert_int_equal(check(path).changes, 2);
	change("DROP TRIGGER change_kept; DELETE FROM change WHERE n = 1");
	check(path);
	assert_non_null(strstr(faults, "number 1 is missing"));
	assert_non_null(strstr(faults, "1 changes that the log of events names"));
}

static void lost_settlement_is_restored(void **state)
{
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	char id[64];
	struct errmsg err = {""};

	(void)state;
	snprintf(id, sizeof(id), "%s", ledger_id(l));
	assert_int_equal(strlen(id), 32);
	ledger_close(l);
	l = open_ledger();
	assert_string_equal(ledger_id(l), id);
	assert_int_equal(ledger_restore(l, &s, 0, &got, &err), 1);
	assert_int_equal(ledger_restore(l, &s, 0, &got, &err), 0);
	s.charged = 10000;
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 0);
	assert_int_equal(got.charged, 3600);
	ledger_close(l);
	assert_int_equal(check(path).faults, 0);
	unlink(path);
	l = open_ledger();
	assert_string_not_equal(ledger_id(l), id);
	ledger_close(l);
}

static int strangers;

static void note_stranger(const char *node, const char *origin, void *arg)
{
	(void)node;
	(void)origin;
	(void)arg;
	strangers++;
}

/* A record in a node's name from elsewhere does not stand in the node's way, and counts for nothing
 * once slurmctld has said who the nodes are. */
static void records_of_strangers(void **state)
{
	struct ledger_record forged = record_of(5, "n1", 90), own = record_of(5, "n1", 5),
			     other = record_of(5, "n9", 1);
	json_t *nodes = json_pack("[{s:s, s:[s, s]}, {s:s, s:[]}]", "name", "n1", "addresses",
		"10.0.0.1", "fd00::1", "name", "n2", "addresses");
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	int64_t co_ns = 0;

	(void)state;
	strangers = 0;
	forged.final = own.final = other.final = true;
	assert_int_equal(ledger_put(l, &forged, 1, "10.0.0.66", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &own, 1, "10.0.0.1", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &other, 1, "10.0.0.9", NULL, &err), 0);
	assert_int_equal(
		ledger_mark_foreign(l, "c", 5, 0, 1000000, NULL, nodes, note_stranger, NULL, &err),
		2);
	assert_int_equal(strangers, 2);
	assert_int_equal(count_records(l, 5, 0, &co_ns), 1);
	assert_int_equal(co_ns, 5000);
	/* Told once. */
	assert_int_equal(
		ledger_mark_foreign(l, "c", 5, 0, 1000000, NULL, nodes, note_stranger, NULL, &err),
		0);
	/* A node whose addresses are not known, and a record of unknown origin. */
	own = record_of(5, "n2", 1);
	assert_int_equal(ledger_put(l, &own, 1, "10.7.7.7", NULL, &err), 0);
	own = record_of(5, "n1", 99);
	own.final = true;
	own.start_unix++;
	assert_int_equal(ledger_put(l, &own, 1, "", NULL, &err), 0);
	assert_int_equal(
		ledger_mark_foreign(l, "c", 5, 0, 1000000, NULL, nodes, note_stranger, NULL, &err),
		0);
	assert_int_equal(count_records(l, 5, 0, NULL), 3);
	json_decref(nodes);
	/* The site fixes the address: the record counts after all. */
	nodes = json_pack("[{s:s, s:[s]}]", "name", "n1", "addresses", "10.0.0.66");
	assert_int_equal(
		ledger_mark_foreign(l, "c", 5, 0, 1000000, NULL, nodes, note_stranger, NULL, &err),
		2);
	assert_int_equal(count_records(l, 5, 0, &co_ns), 2);
	assert_int_equal(co_ns, 90000);
	json_decref(nodes);
	ledger_close(l);
	assert_int_equal(check(path).foreign_records, 3);
	assert_int_equal(check(path).faults, 0);
}

/* One bad request of a group does not take the others with it; what is not committed is not there.
 */
static void group_is_whole(void **state)
{
	struct ledger_record good = record_of(5, "n1", 1), bad = record_of(6, "n\xff", 1);
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(ledger_group(l, &err), 0);
	assert_int_equal(ledger_put(l, &good, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &bad, 1, "", NULL, &err), -1);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(ledger_commit(l, &err), 0);
	assert_int_equal(ledger_commit(l, &err), -1);
	assert_int_equal(count_records(l, 5, 0, NULL), 1);
	assert_int_equal(ledger_group(l, &err), 0);
	s.start_unix += 1000;
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	ledger_close(l); /* as if it were killed */
	l = open_ledger();
	assert_int_equal(ledger_settlement(l, "c", 5, 0, s.start_unix, &got, &err), 0);
	/* The chain goes on where it ended. */
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	ledger_close(l);
	assert_int_equal(check(path).faults, 0);
	assert_int_equal(check(path).events, 2);
}

/*
 * SQLite may take a whole transaction back where the disk is full. What follows in the group must
 * not begin another one that ends well, or what went before would be taken for stored.
 */
static void full_disk_takes_the_group(void **state)
{
	struct ledger_record first = record_of(5, "n1", 1), later = record_of(7, "n1", 1);
	struct settlement s = settlement_of(5, 3600), got;
	struct rlimit all, little;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	int stored = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	little = (struct rlimit){1 << 20, all.rlim_max};
	assert_int_equal(ledger_group(l, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(ledger_put(l, &first, 1, "", NULL, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	for (uint32_t job = 100; !stored && job < 100000; job++) {
		struct ledger_record r = record_of(job, "n1", 1);

		stored = ledger_put(l, &r, 1, "", NULL, &err);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(stored, -1);
	/* The next requests of the same moment, for which there would be room. */
	if (!ledger_group(l, &err))
		ledger_put(l, &later, 1, "", NULL, &err);
	assert_int_equal(ledger_commit(l, &err), -1);
	assert_int_equal(count_records(l, 5, 0, NULL), 0);
	assert_int_equal(count_records(l, 7, 0, NULL), 0);
	/* And then all is well again. */
	assert_int_equal(ledger_group(l, &err), 0);
	assert_int_equal(ledger_put(l, &first, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(ledger_commit(l, &err), 0);
	assert_int_equal(count_records(l, 5, 0, NULL), 1);
	ledger_close(l);
	assert_int_equal(check(path).faults, 0);
	assert_int_equal(check(path).events, 1);
}

static void assert_counts(struct ledger *l, int records, int settlements, int events)
{
	struct errmsg err = {""};
	json_t *counts = ledger_counts(l, &err);

	assert_int_equal(json_integer_value(json_object_get(counts, "records")), records);
	assert_int_equal(json_integer_value(json_object_get(counts, "settlements")), settlements);
	assert_int_equal(json_integer_value(json_object_get(counts, "events")), events);
	json_decref(counts);
}

/* The counts are not counted anew: they follow whatever adds, replaces, removes and takes back. */
static void counts_follow(void **state)
{
	struct ledger_record r[] = {record_of(5, "n1", 1), record_of(6, "n\xff", 1)};
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	assert_counts(l, 0, 0, 0);
	assert_int_equal(ledger_put(l, r, 1, "", NULL, &err), 0);
	r[0].seq = 2;
	assert_int_equal(ledger_put(l, r, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_put(l, r, 1, "", NULL, &err), 0);
	assert_counts(l, 1, 0, 0);
	assert_int_equal(ledger_put(l, r, 1, "10.0.0.1", NULL, &err), 0);
	assert_counts(l, 2, 0, 0);
	for (int grouped = 0; grouped < 2; grouped++) {
		r[0].job_id = 6;
		if (grouped)
			assert_int_equal(ledger_group(l, &err), 0);
		assert_int_equal(ledger_put(l, r, 2, "", NULL, &err), -1);
		assert_counts(l, 2, 0, 0);
		if (grouped)
			assert_int_equal(ledger_commit(l, &err), 0);
	}
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 0);
	assert_counts(l, 2, 1, 1);
	settlement_change(&s, 5000);
	assert_int_equal(ledger_change(l, &s, "generous", 0, 2000, &err), 1);
	assert_counts(l, 2, 1, 2);
	ledger_close(l);
	l = open_ledger();
	assert_counts(l, 2, 1, 2);
	assert_int_equal(ledger_prune(l, 2000000, 1, &err), 1);
	assert_counts(l, 1, 1, 2);
	ledger_close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(newer_replaces_older),
		LEDGER_TEST(reused_job_id),
		LEDGER_TEST(forgotten_run),
		LEDGER_TEST(first_settlement_stays),
		LEDGER_TEST(counts_follow),
		LEDGER_TEST(full_disk_takes_the_group),
		LEDGER_TEST(unsettled_runs),
		LEDGER_TEST(forgotten_runs_are_listed),
		LEDGER_TEST(batch_is_whole),
		LEDGER_TEST(survives_kill),
		LEDGER_TEST(damaged_file_is_set_aside),
		LEDGER_TEST(other_schema_is_left_alone),
		LEDGER_TEST(events_are_append_only),
		LEDGER_TEST(old_settled_records_go),
		LEDGER_TEST(check_finds_faults),
		LEDGER_TEST(backup_of_an_open_ledger),
		LEDGER_TEST(export_is_lines_of_json),
		LEDGER_TEST(log_cannot_be_rewritten),
		LEDGER_TEST(changes_of_a_price),
		LEDGER_TEST(lost_settlement_is_restored),
		LEDGER_TEST(records_of_strangers),
		LEDGER_TEST(group_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
