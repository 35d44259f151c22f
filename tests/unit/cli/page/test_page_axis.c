/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the numbers of a plot's axis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/page/page_axis.h"

static void test_step(void **state)
{
	(void)state;
	assert_float_equal(page_axis_step(1, 8), 0.2, 1e-12);
	assert_float_equal(page_axis_step(0.2, 8), 0.025, 1e-12);
	assert_float_equal(page_axis_step(8, 8), 1, 1e-12);
	assert_float_equal(page_axis_step(8.1, 8), 2, 1e-12);
	assert_float_equal(page_axis_step(39000, 4), 10000, 1e-6);
}

static void test_digits(void **state)
{
	(void)state;
	assert_int_equal(page_axis_digits(10000), 0);
	assert_int_equal(page_axis_digits(1), 0);
	assert_int_equal(page_axis_digits(2.5), 1);
	assert_int_equal(page_axis_digits(0.2), 1);
	assert_int_equal(page_axis_digits(0.05), 2);
	assert_int_equal(page_axis_digits(0.025), 3);
	assert_int_equal(page_axis_digits(1e-9), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step), cmocka_unit_test(test_digits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
