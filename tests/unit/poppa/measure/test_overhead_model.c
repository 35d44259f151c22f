/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the overhead model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "poppa/measure/overhead_model.h"

#define MS INT64_C(1000000)

static void follows_the_equations(void **state)
{
	struct overhead o;
	struct errmsg err;

	(void)state;
	/* The thesis' own setting: 0.76 %. */
	assert_int_equal(overhead_model(2, 3200000, 200 * MS, &o, &err), 0);
	assert_float_equal(o.paused_fraction, 3.2 / (2 * 209.6), 1e-12);
	/* Its closed form (3.10): n(3S+P) / (2nS + nP + S). */
	assert_float_equal(o.dilation, 2 * 209.6 / (4 * 3.2 + 2 * 200 + 3.2), 1e-12);
	assert_int_equal(o.loop_ns, 419200000);
	assert_int_equal(overhead_model(4, 3200000, 200 * MS, &o, &err), 0);
	assert_float_equal(o.paused_fraction, 3 * 3.2 / (4 * 209.6), 1e-12);
	assert_int_equal(overhead_model(1, 3200000, 200 * MS, &o, &err), 0);
	assert_float_equal(o.paused_fraction, 0, 0);
	assert_float_equal(o.dilation, 1, 0);
	/* Without a period every third of the time is a shutter. */
	assert_int_equal(overhead_model(2, 1, 0, &o, &err), 0);
	assert_float_equal(o.paused_fraction, 1 / 6.0, 1e-12);
}

static void refuses_nonsense(void **state)
{
	static const int64_t bad[][3] = {
		{0, MS, MS}, {-1, MS, MS}, {2, -1, MS}, {2, MS, -1}, {2, 0, 0}, {2, INT64_MAX, 1}};
	struct overhead o;
	struct errmsg err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		assert_int_equal(overhead_model(bad[i][0], bad[i][1], bad[i][2], &o, &err), -1);
		assert_true(strlen(err.text) > 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_the_equations),
		cmocka_unit_test(refuses_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
