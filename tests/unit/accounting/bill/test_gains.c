/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what pairs of classes gain. */
#include "accounting/bill/gains.h"

#include <stdlib.h>

#include "unit/accounting/bill/bill_rows.h"

static struct gains gains_of(const struct bills *bills)
{
	struct plain_runs *runs = plain_runs_find(bills);
	struct compact *compact = calloc((size_t)bills->count + 1, sizeof(*compact));
	struct gains g;

	assert_true(runs && compact);
	for (int i = 0; i < bills->count; i++)
		compact[i] = compact_of(runs, &bills->bill[i]);
	assert_int_equal(gains_make(bills, compact, &g), 0);
	plain_runs_free(runs);
	free(compact);
	return g;
}

/* Equations 2.2 and 2.3 by hand: STP = (100/80 + 100/125)/2, SEE = STP / 400 * (250 + 250). */
static void by_hand(void **state)
{
	struct row rows[] = {
		ROW_ON(1, "ada", "x", DAY1, 80, 9, 32000, PRICED("0.0", "1", "0.0", "2", "100"), 16,
			2),
		ROW_ON(2, "bob", "y", DAY1, 125, 9, 50000, PRICED("0.0", "1", "0.0", "1", "100"),
			16, 2),
		ROW_ON(3, "ada", "x", DAY1, 98, 9, 24500, "", 16, 1),
		ROW_ON(4, "ada", "x", DAY1, 102, 9, 25500, "", 16, 1),
		ROW_ON(5, "bob", "y", DAY1, 100, 9, 25000, "", 16, 1),
		ROW_ON(6, "bob", "y", DAY1, 100, 9, 25000, "", 16, 1),
	};
	struct bills bills = bills_of(rows, 6);
	struct gains g = gains_of(&bills);

	(void)state;
	assert_int_equal(g.classes, 2);
	assert_string_equal(g.class[0].user, "ada");
	assert_true(!g.class[0].named);
	assert_int_equal(g.pairs, 1);
	assert_true(g.pair[0].one == 0 && g.pair[0].other == 1 && g.pair[0].unsure.pairs == 0);
	assert_true(near(g.pair[0].sure.stp, 1.025) && near(g.pair[0].sure.shared_s, 80));
	assert_true(g.all.pairs == 1 && near(g.all.stp, 1.025) && g.unsure == 0);
	assert_true(g.see_pairs == 1 && near(g.see, 1.025 / 400 * 500));
	gains_free(&g);
	bills_free(&bills);
	/* STP does not need the energy. */
	rows[0].energy = 0;
	bills = bills_of(rows, 6);
	g = gains_of(&bills);
	assert_true(near(g.all.stp, 1.025) && g.see_pairs == 0 && isnan(g.see));
	gains_free(&g);
	bills_free(&bills);
	/* Plain runs that did not do the same work make a figure that is in no sum. */
	rows[3].elapsed = 300;
	bills = bills_of(rows, 6);
	g = gains_of(&bills);
	assert_true(g.all.pairs == 0 && isnan(g.all.stp) && g.unsure == 1);
	assert_true(g.pair[0].unsure.pairs == 1 && isnan(g.pair[0].sure.stp));
	gains_free(&g);
	bills_free(&bills);
}

/* Pairs of one class of them add up by the time that they shared; a class of --colocate is another
 * one than a name. */
static void pairs_of_classes(void **state)
{
	static const struct row rows[] = {
		ROW_ON(1, "ada", "x", DAY1, 100, 9, 0, PRICED("0.0", "1", "0.0", "2", "100"), 16,
			2),
		ROW_ON(2, "ada", "x", DAY1, 100, 9, 0, PRICED("0.0", "1", "0.0", "1", "100"), 16,
			2),
		ROW_ON(3, "ada", "x", DAY1 + 500, 200, 9, 0, PRICED("0.0", "1", "0.0", "4", "100"),
			16, 2),
		ROW_ON(4, "ada", "x", DAY1 + 500, 200, 9, 0, PRICED("0.0", "1", "0.0", "3", "100"),
			16, 2),
		ROW_ON(5, "ada", "x", DAY1 + 900, 100, 9, 0,
			"colocate: class:x; " PRICED("0.0", "1", "0.0", "6", "100"), 16, 2),
		ROW_ON(6, "ada", "x", DAY1 + 900, 100, 9, 0, PRICED("0.0", "1", "0.0", "5", "100"),
			16, 2),
		/* Had two partners, so what the pair made is not theirs alone. */
		ROW_ON(7, "ada", "x", DAY1 + 2000, 100, 9, 0, PRICED("0.0", "1", "0.0", "8", "100"),
			16, 2),
		ROW_ON(8, "ada", "x", DAY1 + 2000, 100, 9, 0,
			PRICED("0.0", "1", "0.0", "7,9", "100"), 16, 2),
		ROW_ON(20, "ada", "x", DAY1, 120, 9, 0, "", 16, 1),
		ROW_ON(21, "ada", "x", DAY1, 120, 9, 0, "", 16, 1),
	};
	struct bills bills = bills_of(rows, 10);
	struct gains g = gains_of(&bills);

	(void)state;
	assert_int_equal(g.classes, 2);
	assert_true(!g.class[0].named && g.class[1].named);
	assert_int_equal(g.pairs, 2);
	assert_true(g.pair[0].one == 0 && g.pair[0].other == 0 && g.pair[0].sure.pairs == 2);
	assert_true(near(g.pair[0].sure.stp, (100 * 1.2 + 200 * 0.6) / 300));
	assert_true(g.pair[1].one == 0 && g.pair[1].other == 1);
	assert_int_equal(g.all.pairs, 3);
	gains_free(&g);
	bills_free(&bills);
}

static void nothing(void **state)
{
	struct bills bills = bills_of(NULL, 0);
	struct gains g = gains_of(&bills);

	(void)state;
	assert_true(g.classes == 0 && g.pairs == 0 && isnan(g.all.stp) && isnan(g.see));
	gains_free(&g);
	bills_free(&bills);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(pairs_of_classes),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
