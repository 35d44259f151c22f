/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/ledger_status.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/fsio.h"
#include "accounting/ledgerd/ledger.h"
#include "unit/accounting/ledger_fixture.h"

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

static json_t *refusals(struct ledger *l)
{
	struct errmsg err = {""};
	json_t *all = ledger_refusals(l, &err);

	assert_non_null(all);
	return all;
}

/* They outlive the ledger's process: an administrator may look days later. */
static void refusals_add_up(void **state)
{
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	json_t *all = refusals(l), *one;

	(void)state;
	assert_int_equal(json_object_size(all), 0);
	json_decref(all);
	assert_int_equal(ledger_count_refusals(l, "malformed", 2, 1000, &err), 0);
	assert_int_equal(ledger_count_refusals(l, "expired", 1, 1500, &err), 0);
	assert_int_equal(ledger_count_refusals(l, "malformed", 3, 2000, &err), 0);
	ledger_close(l);
	l = open_ledger();
	all = refusals(l);
	assert_int_equal(json_object_size(all), 2);
	one = json_object_get(all, "malformed");
	assert_int_equal(json_integer_value(json_object_get(one, "count")), 5);
	assert_int_equal(json_integer_value(json_object_get(one, "first")), 1000);
	assert_int_equal(json_integer_value(json_object_get(one, "last")), 2000);
	json_decref(all);
	ledger_close(l);
}

static void head_is_the_last_event(void **state)
{
	char first[LEDGER_HASH_SIZE], hash[LEDGER_HASH_SIZE];
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	int64_t id = -1;

	(void)state;
	ledger_head(l, &id, hash);
	assert_int_equal(id, 0);
	assert_string_equal(hash, "");
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	ledger_head(l, &id, first);
	assert_int_equal(id, 1);
	assert_int_equal(strlen(first), LEDGER_HASH_SIZE - 1);
	s.job_id++;
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	ledger_head(l, &id, hash);
	assert_int_equal(id, 2);
	assert_string_not_equal(hash, first);
	ledger_close(l);
	l = open_ledger();
	ledger_head(l, &id, first);
	assert_int_equal(id, 2);
	assert_string_equal(hash, first);
	ledger_close(l);
}

/* The files beside one that was set aside are not counted. */
static void files_that_were_set_aside(void **state)
{
	static const char *const beside[] = {".damaged-1700000000", ".damaged-1700000000-wal",
		".damaged-1800000000", "-wal.old"};
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(ledger_count_set_aside(l), 0);
	assert_false(ledger_damaged(l));
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		char name[160];

		snprintf(name, sizeof(name), "%s%s", path, beside[i]);
		assert_int_equal(fsio_write(name, "x", 1, 0600, 0, &err), 0);
	}
	assert_int_equal(ledger_count_set_aside(l), 2);
	ledger_close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(counts_follow),
		LEDGER_TEST(refusals_add_up),
		LEDGER_TEST(head_is_the_last_event),
		LEDGER_TEST(files_that_were_set_aside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
