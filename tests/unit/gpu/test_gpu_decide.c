/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of how many units a program should have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/gpu_decide.h"

static struct gpu_point points[] = {
	{4, 4.0, 400}, {8, 1.01, 120}, {12, 1.0, 110}, {16, 1.3, 150}, {44, 1.5, 240}};
static const struct gpu_program program = {NULL, points, 5};

static void decided(enum gpu_goal goal, double eps, double units)
{
	struct gpu_decision d;

	assert_true(gpu_decide(&program, goal, eps, &d));
	if (fabs(d.point->units - units) > 0)
		fail_msg("%g units, not %g", d.point->units, units);
}

static void test_goals(void **state)
{
	(void)state;
	decided(GPU_TIME, 0.02, 8);
	decided(GPU_TIME, 0, 12);
	decided(GPU_TIME, 3, 4);
	decided(GPU_ENERGY, 0, 12);
	decided(GPU_ENERGY, 0.1, 8);
	decided(GPU_EDP, 0.02, 12);
}

static void test_what_it_saves(void **state)
{
	struct gpu_decision d;

	(void)state;
	assert_true(gpu_decide(&program, GPU_TIME, 0, &d));
	assert_true(fabs(d.time_saved - (1 - 1.0 / 1.5)) < 1e-9);
	assert_true(fabs(d.energy_saved - (1 - 110.0 / 240)) < 1e-9);
	assert_true(fabs(d.edp_saved - (1 - 110.0 / 360)) < 1e-9);
	assert_false(d.all);
}

static void test_all(void **state)
{
	struct gpu_point scan[] = {{4, 4, NAN}, {44, 1, NAN}};
	const struct gpu_program p = {NULL, scan, 2};
	struct gpu_decision d;

	(void)state;
	assert_true(gpu_decide(&p, GPU_TIME, 0.02, &d));
	assert_true(d.all);
	assert_true(isnan(d.energy_saved));
	assert_false(gpu_decide(&p, GPU_ENERGY, 0.02, &d));
	assert_false(gpu_decide(&p, GPU_EDP, 0.02, &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goals),
		cmocka_unit_test(test_what_it_saves),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
