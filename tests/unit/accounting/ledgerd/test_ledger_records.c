/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/ledger_records.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "accounting/ledgerd/ledger.h"
#include "unit/accounting/ledger_fixture.h"

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
	/* A record of unknown origin. */
	own = record_of(5, "n1", 99);
	own.final = true;
	own.start_unix++;
	assert_int_equal(ledger_put(l, &own, 1, "", NULL, &err), 0);
	assert_int_equal(
		ledger_mark_foreign(l, "c", 5, 0, 1000000, NULL, nodes, note_stranger, NULL, &err),
		0);
	assert_int_equal(count_records(l, 5, 0, NULL), 2);
	/* A node whose addresses are not known: anybody could have sent it. */
	own = record_of(5, "n2", 1);
	assert_int_equal(ledger_put(l, &own, 1, "10.7.7.7", NULL, &err), 0);
	assert_int_equal(
		ledger_mark_foreign(l, "c", 5, 0, 1000000, NULL, nodes, note_stranger, NULL, &err),
		1);
	assert_int_equal(count_records(l, 5, 0, NULL), 2);
	json_decref(nodes);
	/* The site fixes the address: the record counts after all. */
	nodes = json_pack("[{s:s, s:[s]}]", "name", "n1", "addresses", "10.0.0.66");
	assert_int_equal(
		ledger_mark_foreign(l, "c", 5, 0, 1000000, NULL, nodes, note_stranger, NULL, &err),
		1);
	assert_int_equal(count_records(l, 5, 0, &co_ns), 2);
	assert_int_equal(co_ns, 90000);
	json_decref(nodes);
	ledger_close(l);
	assert_int_equal(check_ledger(path).foreign_records, 3);
	assert_int_equal(check_ledger(path).faults, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(newer_replaces_older),
		LEDGER_TEST(reused_job_id),
		LEDGER_TEST(forgotten_run),
		LEDGER_TEST(unsettled_runs),
		LEDGER_TEST(forgotten_runs_are_listed),
		LEDGER_TEST(batch_is_whole),
		LEDGER_TEST(old_settled_records_go),
		LEDGER_TEST(records_of_strangers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
