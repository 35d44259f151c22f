/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of adding bills up. */
#include <stdlib.h>

#include "accounting/bill/summary.h"
#include "unit/accounting/bill/bill_rows.h"

static void sums_by_user(void **state)
{
	static const struct row rows[] = {
		ROW(1, "ada", "x", DAY1, 100, 80, 0, PRICED("0.2", "1", "0.2", "2", "80")),
		ROW(2, "bob", "y", DAY1, 300, 50, 0, PRICED("0.5", "1", "0.5", "1", "50")),
		ROW(3, "ada", "x", DAY1 + 100, 100, 100, 0,
			"poppa: nodata=no-record raw=100 charged=100"),
		ROW(4, "ada", "z", DAY1 + 200, 10, 100, 0, "colocate: stripe"),
		ROW(5, "ada", "z", DAY1 + 200, 10, 100, 0, ""),
	};
	struct bills bills = bills_of(rows, 5);
	struct summary s;

	(void)state;
	assert_int_equal(summary_make(&bills, SUMMARY_USER, &s), 0);
	assert_int_equal(s.total.jobs, 4);
	assert_int_equal(s.others, 1);
	assert_int_equal(s.total.raw, 10000 + 30000 + 10000 + 1000);
	assert_int_equal(s.total.charged, 8000 + 15000 + 10000 + 1000);
	assert_true(near(summary_degradation(&s.total), (20.0 + 150) / 400));
	assert_true(near(summary_stp(&s.total), (80.0 + 150) / 400));
	assert_true(near(summary_discount(&s.total), 1 - 34000.0 / 51000));
	assert_int_equal(s.group_count, 2);
	assert_string_equal(s.groups[0].name, "bob");
	assert_string_equal(s.groups[1].name, "ada");
	assert_int_equal(s.groups[1].sums.no_data, 1);
	assert_int_equal(s.groups[1].sums.unsettled, 1);
	assert_int_equal(s.reason_count, 1);
	assert_int_equal(s.reasons[0].charged, 10000);
	assert_int_equal(s.first, DAY1);
	assert_int_equal(s.last, DAY1 + 300);
	summary_free(&s);
	bills_free(&bills);
}

/* Pairs need one partner; time beside it counts, and only a partner in the list has a name. */
static void pairs_and_programs(void **state)
{
	static const struct row rows[] = {
		ROW(1, "ada", "x", DAY1, 100, 80, 0, PRICED("0.2", "0.5", "0.4", "2", "80")),
		ROW(2, "bob", "y", DAY1, 50, 90, 0, PRICED("0.1", "1", "0.1", "1", "90")),
		ROW(3, "ada", "x", DAY1 + 500, 100, 40, 0, PRICED("0.6", "1", "0.6", "4", "40")),
		ROW(4, "bob", "y", DAY1 + 500, 100, 100, 0, PRICED("0.0", "1", "0.0", "3", "100")),
		ROW(5, "ada", "x", DAY1 + 900, 100, 50, 0, PRICED("0.5", "1", "0.5", "7", "50")),
		ROW(6, "ada", "x", DAY1 + 900, 100, 50, 0, PRICED("0.5", "1", "0.5", "5,7", "50")),
	};
	struct bills bills = bills_of(rows, 6);
	struct summary s;

	(void)state;
	assert_int_equal(summary_make(&bills, SUMMARY_PROGRAM, &s), 0);
	assert_int_equal(s.program_count, 2);
	assert_int_equal(s.pair_count, 3);
	/* x beside a job that is not shown, x beside y, y beside x. */
	assert_int_equal(s.pairs[0].partner, -1);
	assert_true(s.pairs[1].program == 0 && s.pairs[1].partner == 1 && s.pairs[1].runs == 2);
	assert_true(near(s.pairs[1].beside_s, 150) && near(s.pairs[1].lost_s, 20 + 60));
	assert_true(near(s.pairs[2].lost_s, 5));
	assert_true(near(s.programs[1].caused_s / s.programs[1].beside_s, 80.0 / 150));
	assert_int_equal(s.programs[0].priced, 4);
	/* Prices of x in units of the solo price, by policy solo: always 1. */
	assert_true(near(s.programs[0].charged.at[0], 1) && near(s.programs[0].charged.at[4], 1));
	assert_true(
		near(s.programs[0].practice.at[4], 2.5) && near(s.programs[0].practice.at[2], 2));
	assert_true(
		near(s.programs[0].thesis.at[0], 0.4) && near(s.programs[0].thesis.at[1], 0.475));
	summary_free(&s);
	bills_free(&bills);
}

/* Jobs count by their CPU seconds, and only those of which the progress is certain. */
static void against_plain_runs(void **state)
{
	static const struct row rows[] = {
		ROW_ON(1, "ada", "x", DAY1, 100, 100, 0, PRICED("0.0", "1", "0.0", "2", "100"), 16,
			2),
		ROW_ON(2, "bob", "y", DAY1, 200, 100, 0, PRICED("0.0", "1", "0.0", "1", "100"), 32,
			4),
		ROW_ON(3, "ada", "x", DAY1, 110, 100, 0, "", 16, 1),
		ROW_ON(4, "ada", "x", DAY1, 110, 100, 0, "", 16, 1),
		ROW_ON(5, "bob", "y", DAY1, 160, 100, 0, "", 32, 2),
		ROW_ON(6, "bob", "y", DAY1, 160, 100, 0, "", 32, 2),
		ROW_ON(7, "bob", "z", DAY1, 160, 100, 0, "colocate: stripe", 32, 4),
		ROW_ON(8, "bob", "z", DAY1, 160, 100, 0, "", 32, 2),
	};
	struct bills bills = bills_of(rows, 8);
	struct summary s;

	(void)state;
	assert_int_equal(summary_make(&bills, SUMMARY_USER, &s), 0);
	assert_int_equal(s.total.compared, 2);
	assert_true(near(summary_compact_stp(&s.total),
		(16 * 110.0 + 32 * 160.0) / (16 * 100.0 + 32 * 200.0)));
	assert_string_equal(s.groups[1].name, "ada");
	assert_true(near(summary_compact_stp(&s.groups[1].sums), 1.1));
	assert_int_equal(s.doubts[COMPACT_NONE], 2);
	assert_int_equal(s.doubts[COMPACT_ONE_RUN], 1);
	assert_int_equal(s.gains.all.pairs, 1);
	summary_free(&s);
	bills_free(&bills);
}

static void slots_of_time(void **state)
{
	struct row rows[] = {
		ROW(1, "a", "x", DAY1, 60, 10, 0, "colocate: stripe"),
		ROW(2, "a", "x", DAY1, 3660, 10, 0, "colocate: stripe"),
		ROW(3, "a", "x", DAY1 + 7200, 60, 10, 0, "colocate: stripe"),
	};
	struct bills bills = bills_of(rows, 3);
	struct summary s;

	(void)state;
	setenv("TZ", "UTC", 1);
	assert_int_equal(summary_make(&bills, SUMMARY_DAY, &s), 0);
	assert_int_equal(s.slot_s, 3600);
	assert_int_equal(s.slot_count, 3);
	assert_int_equal(s.slots[0].from % 3600, 0);
	assert_int_equal(s.slots[1].raw, 36600);
	assert_int_equal(s.group_count, 1);
	assert_string_equal(s.groups[0].name, "2026-09-21");
	summary_free(&s);
	bills_free(&bills);
	rows[2].start += 10 * 86400;
	bills = bills_of(rows, 3);
	assert_int_equal(summary_make(&bills, SUMMARY_DAY, &s), 0);
	assert_int_equal(s.slot_s, 86400);
	assert_int_equal(s.slot_count, 11);
	summary_free(&s);
	bills_free(&bills);
	rows[2].start += 1000L * 86400;
	bills = bills_of(rows, 3);
	assert_int_equal(summary_make(&bills, SUMMARY_DAY, &s), 0);
	assert_int_equal(s.slot_s, 7 * 86400);
	summary_free(&s);
	bills_free(&bills);
}

/* A clock that was wrong, or a row that lacks its start, must not reach beyond the bars. */
static void odd_times(void **state)
{
	struct row rows[] = {
		ROW(1, "a", "x", DAY1, 60, 10, 0, "colocate: stripe"),
		ROW(2, "a", "x", 0, 60, 10, 0, "colocate: stripe"),
		ROW(3, "a", "x", 253402300000, 60, 10, 0, "colocate: stripe"),
	};
	struct bills bills = bills_of(rows, 3);
	struct summary s;

	(void)state;
	assert_int_equal(summary_make(&bills, SUMMARY_DAY, &s), 0);
	assert_int_equal(s.slot_count, 0);
	assert_int_equal(s.total.jobs, 3);
	summary_free(&s);
	bills_free(&bills);
	bills = bills_of(rows, 2);
	assert_int_equal(summary_make(&bills, SUMMARY_DAY, &s), 0);
	assert_int_equal(s.slot_count, 1);
	assert_int_equal(s.slots[0].jobs, 1);
	summary_free(&s);
	bills_free(&bills);
}

static void nothing(void **state)
{
	struct bills bills = bills_of(NULL, 0);
	struct summary s;

	(void)state;
	for (int by = 0; by < SUMMARY_KINDS; by++) {
		assert_int_equal(summary_make(&bills, by, &s), 0);
		assert_true(!s.group_count && !s.slot_count && !s.pair_count);
		assert_true(isnan(summary_discount(&s.total)) && isnan(summary_stp(&s.total)));
		summary_free(&s);
		assert_int_equal(summary_by_parse(summary_by_name(by)), by);
	}
	assert_int_equal(summary_by_parse("colour"), SUMMARY_KINDS);
	bills_free(&bills);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_by_user),
		cmocka_unit_test(pairs_and_programs),
		cmocka_unit_test(against_plain_runs),
		cmocka_unit_test(slots_of_time),
		cmocka_unit_test(odd_times),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
