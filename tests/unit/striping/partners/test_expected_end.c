/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of expected ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "common/settings.h"
#include "striping/partners/expected_end.h"

#define NOW 1800000000

static void what_is_left_takes_longer(void **state)
{
	(void)state;
	assert_int_equal(expected_end(NOW, NOW + 600, 0, 0, 0), NOW + 600);
	assert_int_equal(expected_end(NOW, NOW + 600, 0.5, 0, 0), NOW + 1200);
	assert_int_equal(expected_end(NOW, NOW + 600, 0.25, 0, 0), NOW + 800);
	/* Losses that are noise, and ends that have come, move nothing. */
	assert_int_equal(expected_end(NOW, NOW + 600, -0.1, 0, 0), NOW + 600);
	assert_int_equal(expected_end(NOW, NOW + 600, NAN, 0, 0), NOW + 600);
	assert_int_equal(expected_end(NOW, NOW - 10, 0.5, 0, 0), NOW - 10);
}

static void until_the_partner_leaves(void **state)
{
	(void)state;
	assert_int_equal(expected_end(NOW, NOW + 600, 0.5, NOW + 100, 0), NOW + 650);
	/* It stays longer than this job. */
	assert_int_equal(expected_end(NOW, NOW + 600, 0.5, NOW + 9000, 0), NOW + 1200);
	assert_int_equal(expected_end(NOW, NOW + 600, 0.5, NOW - 1, 0), NOW + 600);
}

static void it_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(expected_end(NOW, NOW + 600, 0.5, 0, NOW + 900), NOW + 900);
	assert_int_equal(expected_end(NOW, NOW + 600, 0.5, 0, NOW + 1500), NOW + 1200);
	/* An end that is behind the bound already was set by somebody. */
	assert_int_equal(expected_end(NOW, NOW + 600, 0.5, 0, NOW + 500), NOW + 600);
	assert_int_equal(
		expected_end(NOW, NOW + 100, 0.99, 0, 0), NOW + 100 * (1 + TIME_LIMIT_MOST_TIMES));
	assert_int_equal(
		expected_end(NOW, NOW + 100, 1, 0, 0), NOW + 100 * (1 + TIME_LIMIT_MOST_TIMES));
}

static void who_is_put_off(void **state)
{
	const int64_t late = 200 + EXPECTED_SLACK_S + 1;

	(void)state;
	assert_true(expected_puts_off(100, late, 200));
	assert_true(expected_puts_off(200, late, 200));
	/* It starts after all, or so early that it is not this that puts it off. */
	assert_false(expected_puts_off(100, late - 1, 200));
	assert_false(expected_puts_off(201, late, 200));
	assert_false(expected_puts_off(100, 100, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_takes_longer),
		cmocka_unit_test(until_the_partner_leaves),
		cmocka_unit_test(it_is_bounded),
		cmocka_unit_test(who_is_put_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
