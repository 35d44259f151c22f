/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of charging bills as another policy would have. */
#include "accounting/bill/what_if.h"

#include "unit/accounting/bill/bill_rows.h"

#define FACTS(facts, charged) "poppa: " facts " raw=1000 charged=" charged " policy=none"

static const struct row rows[] = {
	ROW(1, "ada", "x", DAY1, 60, 990, 0,
		FACTS("d=0.2000 ci=0.190..0.210 stopped=0.0100", "990")),
	ROW(2, "ada", "x", DAY1, 60, 1000, 0, FACTS("d=-0.0100", "1000")),
	/* There is no discount without data, whatever else is known. */
	ROW(3, "ada", "x", DAY1, 60, 980, 0, FACTS("nodata=uncertain stopped=0.0200", "980")),
	ROW(4, "ada", "x", DAY1, 60, 980, 0, FACTS("d=0.3000 nodata=uncertain", "1000")),
	/* Without a price, and not co-located. */
	ROW(5, "ada", "x", DAY1, 60, 700, 0, "colocate: stripe"),
	ROW(6, "ada", "x", DAY1, 60, 500, 0, ""),
};
#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

static void charges_by_policy(void **state)
{
	static const struct {
		const char *policy;
		uint64_t billing[ROWS];
	} cases[] = {
		{"thesis", {634, 1000, 980, 1000, 700, 500}},
		{"solo", {792, 1000, 980, 1000, 700, 500}},
		{"solo/cap=0.1", {891, 1000, 980, 1000, 700, 500}},
		{"thesis/estimate=upper", {618, 1000, 980, 1000, 700, 500}},
		{"thesis/floor=985", {985, 1000, 980, 1000, 700, 500}},
		{"none", {990, 1000, 980, 1000, 700, 500}},
	};
	struct bills bills = bills_of(rows, ROWS);

	(void)state;
	/* One after the other on the same bills: nothing is left of the policy before. */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct price_policy policy;
		struct errmsg err;

		assert_int_equal(price_policy_parse(cases[i].policy, &policy, &err), 0);
		bills_what_if(&bills, &policy);
		for (int k = 0; k < ROWS; k++) {
			assert_int_equal(bills.bill[k].billing, cases[i].billing[k]);
			assert_int_equal(bills.bill[k].billing_now, rows[k].billing);
		}
	}
	bills_free(&bills);
}

/* The policy makes the price of the last size, and earlier sizes have its share, as when it is
 * settled. */
static void sizes_of_a_run(void **state)
{
	const struct row resized[] = {
		{.id = 1,
			.user = "ada",
			.name = "x",
			.start = DAY1,
			.elapsed = 40,
			.billing = 4000,
			.comment = "",
			.state = "RESIZING"},
		ROW(1, "ada", "x", DAY1 + 40, 60, 1000, 0,
			FACTS("d=0.2000", "1000") " earlier=4000:40"),
	};
	const struct price_policy policy = {.kind = PRICE_THESIS, .cap = 1, .floor = 700};
	struct bills bills = bills_of(resized, 2);

	(void)state;
	bills_what_if(&bills, &policy);
	assert_int_equal(bills.bill[0].billing, 2800);
	assert_int_equal(bills.bill[0].billing_now, 4000);
	assert_int_equal(bills.bill[1].billing, 700);
	bills_free(&bills);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(charges_by_policy),
		cmocka_unit_test(sizes_of_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
