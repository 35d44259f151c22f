/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of means in which later runs outweigh earlier ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <math.h>

#include "striping/history/aged_mean.h"

#define DAY 86400LL

static void the_first_run_is_the_mean(void **state)
{
	struct aged_mean m = {.runs = 0};

	(void)state;
	aged_mean_add(&m, -3, 100, 10);
	assert_int_equal(m.runs, 1);
	assert_float_equal(m.mean, -3, 0);
	assert_float_equal(m.variance, 0, 0);
	assert_int_equal(m.last, 100);
}

/* Runs of one day count the same, until there are so many. */
static void young_runs_are_equal(void **state)
{
	struct aged_mean m = {.runs = 0};

	(void)state;
	for (int i = 1; i <= 4; i++)
		aged_mean_add(&m, i, 0, 4);
	assert_int_equal(m.runs, 4);
	assert_float_equal(m.mean, 2.5, 1e-12);
	assert_float_equal(m.variance, 1.25, 1e-12);
	aged_mean_add(&m, 6.5, 0, 4);
	assert_int_equal(m.runs, 4);
	assert_float_equal(m.mean, 3.5, 1e-12);
}

/* After a break a run takes what has faded: half in 30 days, three quarters in 60. */
static void old_runs_fade(void **state)
{
	struct aged_mean m = {.runs = 0};

	(void)state;
	for (int i = 0; i < 10; i++)
		aged_mean_add(&m, 1, 0, 10);
	aged_mean_add(&m, 2, 30 * DAY, 10);
	assert_float_equal(m.mean, 1.5, 1e-12);
	assert_int_equal(m.runs, 4); /* 1 / (1/4 + 1/4 / 10), rounded */
	aged_mean_add(&m, 2.5, 90 * DAY, 10);
	assert_float_equal(m.mean, 2.25, 1e-12);
	assert_int_equal(m.runs, 2);
	assert_int_equal(m.last, 90 * DAY);
	/* One from before, as when a clock was set back, takes no more than its part. */
	aged_mean_add(&m, 2.25, 0, 10);
	assert_float_equal(m.mean, 2.25, 1e-12);
	assert_int_equal(m.last, 90 * DAY);
}

static void weights_halve(void **state)
{
	(void)state;
	assert_float_equal(aged_left(0, 0), 1, 0);
	assert_float_equal(aged_left(10, 0), 1, 0);
	assert_float_equal(aged_left(0, 30 * DAY), 0.5, 1e-12);
	assert_float_equal(aged_left(0, 60 * DAY), 0.25, 1e-12);
	assert_true(aged_left(LLONG_MIN, LLONG_MAX) > 0);
	assert_false(aged_out(0, 90 * DAY));
	assert_true(aged_out(0, 90 * DAY + 1));
	assert_false(aged_out(LLONG_MAX, LLONG_MIN));
}

static void later_times_are_of_now(void **state)
{
	long long when = 101;

	(void)state;
	aged_no_later(&when, 100);
	assert_int_equal(when, 100);
	aged_no_later(&when, 200);
	assert_int_equal(when, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_run_is_the_mean),
		cmocka_unit_test(young_runs_are_equal),
		cmocka_unit_test(old_runs_fade),
		cmocka_unit_test(weights_halve),
		cmocka_unit_test(later_times_are_of_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
