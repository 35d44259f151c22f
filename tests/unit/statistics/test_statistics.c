/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/statistics/statistics.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "statistics/statistics.h"

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

/* From the usual tables; and of Cauchy's and other closed forms. */
static void quantiles(void **state)
{
	static const struct {
		double dof, t;
	} table[] = {{1, 12.7062}, {2, 4.3027}, {3, 3.1824}, {4, 2.7764}, {5, 2.5706}, {9, 2.2622},
		{10, 2.2281}, {20, 2.0860}, {30, 2.0423}, {60, 2.0003}, {120, 1.9799},
		{150, 1.9759}, {100000, 1.9600}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_float_equal(statistics_t95(table[i].dof), table[i].t, 0.0001);
	for (double dof = 0.25; dof < 40; dof += 0.25)
		assert_true(statistics_t95(dof) > statistics_t95(dof + 0.25));
	assert_true(statistics_t95(1.5) > 4.3027 && statistics_t95(1.5) < 12.7062);
	assert_true(isnan(statistics_t95(0)) && isnan(statistics_t95(NAN)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians),
		cmocka_unit_test(quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
