/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of quantiles. */
#include "accounting/bill/spread.h"

#include "unit/accounting/bill/bill_rows.h"

static void quantiles(void **state)
{
	double none[1] = {0}, one[] = {3}, two[] = {4, 2}, five[] = {5, 1, 4, 2, 3};
	struct spread s = spread_of(none, 0);

	(void)state;
	assert_true(isnan(s.at[0]) && isnan(s.at[2]) && isnan(s.at[4]));
	s = spread_of(one, 1);
	assert_true(near(s.at[0], 3) && near(s.at[2], 3) && near(s.at[4], 3));
	s = spread_of(two, 2);
	assert_true(near(s.at[0], 2) && near(s.at[1], 2.5) && near(s.at[2], 3) && near(s.at[4], 4));
	s = spread_of(five, 5);
	assert_true(near(s.at[1], 2) && near(s.at[2], 3) && near(s.at[3], 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(quantiles)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
