/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/ledger_settlements.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "accounting/ledgerd/ledger.h"
#include "unit/accounting/ledger_fixture.h"

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
	if (check_ledger(path).faults)
		fail_msg("%s", fault_lines);
	assert_int_equal(check_ledger(path).changes, 2);
	change_ledger("DROP TRIGGER change_kept; DELETE FROM change WHERE n = 1");
	check_ledger(path);
	assert_non_null(strstr(fault_lines, "number 1 is missing"));
	assert_non_null(strstr(fault_lines, "1 changes that the log of events names"));
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
	assert_int_equal(check_ledger(path).faults, 0);
	unlink(path);
	l = open_ledger();
	assert_string_not_equal(ledger_id(l), id);
	ledger_close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(first_settlement_stays),
		LEDGER_TEST(changes_of_a_price),
		LEDGER_TEST(lost_settlement_is_restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
