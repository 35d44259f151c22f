/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the model of a board's power: what the thesis says of it in words, and its setting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/gpu_power.h"

static void assert_between(double value, double low, double high)
{
	if (value < low || value > high)
		fail_msg("%g is not between %g and %g", value, low, high);
}

/* Thesis, section 4.3, "Power, Energy, and EDP". */
static void test_what_the_text_says(void **state)
{
	const struct gpu_power *p = &gpu_power_default;

	(void)state;
	assert_between(p->idle_w / (p->idle_w + p->other_w), 0.555, 0.565);
	for (double activity = 0.06; activity <= 0.32; activity += 0.02) {
		double all = gpu_power_w(p, 44, activity);

		assert_between(p->idle_w / all, 0.228, 0.302);
		/* Four units that are off. */
		assert_between(4 * p->idle_w / p->units / all, 0.02, 0.03);
	}
	/* With fewer units on, those work more: here twice as much with 12 as with 44. */
	assert_between(1 - gpu_power_w(p, 12, 0.2) / gpu_power_w(p, 44, 0.1), 0.22, 0.26);
}

static void test_all_is_added(void **state)
{
	const struct gpu_power p = {
		.units = 10, .other_w = 1, .memory_w = 2, .idle_w = 10, .dynamic_w = 100};

	(void)state;
	assert_between(gpu_power_w(&p, 5, 0.5), 33 - 1e-9, 33 + 1e-9);
	assert_between(gpu_power_w(&p, 10, 0), 13 - 1e-9, 13 + 1e-9);
}

static void test_setting(void **state)
{
	struct gpu_power p = gpu_power_default;
	struct errmsg err;

	(void)state;
	assert_int_equal(gpu_power_parse(&p, "units=60, idle=12.5", &err), 0);
	assert_between(p.units, 60, 60);
	assert_between(p.idle_w, 12.5, 12.5);
	assert_between(p.memory_w, gpu_power_default.memory_w, gpu_power_default.memory_w);
	assert_int_equal(gpu_power_parse(&p, "units=0", &err), -1);
	assert_int_equal(gpu_power_parse(&p, "idle", &err), -1);
	assert_string_equal(err.text, "idle: give it a number");
	assert_int_equal(gpu_power_parse(&p, "fan=3", &err), -1);
	assert_non_null(strstr(err.text, "fan"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_text_says),
		cmocka_unit_test(test_all_is_added),
		cmocka_unit_test(test_setting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
