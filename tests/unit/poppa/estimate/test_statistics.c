/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/statistics.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "poppa/estimate/statistics.h"

static void medians(void **state)
{
	double v[] = {5, 1, 4, 2, 3};

	(void)state;
	assert_true(isnan(statistics_median(v, 0)));
	assert_float_equal(statistics_median(v, 1), 5, 0);
	assert_float_equal(statistics_median(v, 4), 3, 0);
	assert_float_equal(statistics_median(v, 5), 3, 0);
	for (int i = 0; i < 5; i++)
		assert_float_equal(v[i], i + 1, 0);
}

/* Tables have 1.9758 for 150, and 1.9600 in the limit. */
static void quantiles(void **state)
{
	double last = INFINITY;

	(void)state;
	assert_float_equal(statistics_t95(1), 12.706, 0);
	assert_float_equal(statistics_t95(0), 12.706, 0);
	assert_float_equal(statistics_t95(NAN), 12.706, 0);
	assert_float_equal(statistics_t95(20), 2.086, 0);
	assert_float_equal(statistics_t95(30), 2.042, 0.003);
	assert_float_equal(statistics_t95(150), 1.9758, 0.003);
	assert_float_equal(statistics_t95(1e9), 1.9600, 0.001);
	for (double dof = 1; dof < 200; dof++) {
		assert_true(statistics_t95(dof) < last);
		last = statistics_t95(dof);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians),
		cmocka_unit_test(quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
