/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of measured curves: kernels that are added up, runs of the same, and lines that are
 * wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/gpu_curve.h"

static void parse(struct gpu_curves *c, const char *text)
{
	struct errmsg err = {""};

	if (gpu_curves_parse(c, "test", text, &gpu_power_default, &err))
		fail_msg("%s", err.text);
}

static void refuse(const char *text, const char *why)
{
	struct gpu_curves c;
	struct errmsg err = {""};

	assert_int_equal(gpu_curves_parse(&c, "test", text, &gpu_power_default, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void assert_near(double a, double b)
{
	if (fabs(a - b) > 1e-9 * (fabs(b) + 1))
		fail_msg("%g is not %g", a, b);
}

static void test_one_program(void **state)
{
	struct gpu_curves c;

	(void)state;
	parse(&c, "seconds, units\r\n# measured\n1,8\n\n2 ,4\n");
	assert_int_equal(c.count, 1);
	assert_string_equal(c.programs[0].name, "all");
	assert_int_equal(c.programs[0].count, 2);
	assert_near(c.programs[0].points[0].units, 4);
	assert_near(c.programs[0].points[0].seconds, 2);
	assert_true(isnan(c.programs[0].points[0].joules));
	gpu_curves_release(&c);
}

static void test_kernels_are_added_and_runs_are_not(void **state)
{
	struct gpu_curves c;

	(void)state;
	parse(&c, "program,kernel,units,seconds,joules,note\n"
		  "q5,join,8,1,10,a\n"
		  "q1,scan,8,7,70,b\n"
		  "q5,join,4,2,15,c\n"
		  "q5,scan,4,3,20,d\n"
		  "q5,join,8,9,90,e\n"
		  "q5,scan,8,4,30,f\n"
		  "q5,join,8,2,20,g\n"
		  "q5,join,16,1,1,h\n");
	assert_int_equal(c.count, 2);
	assert_string_equal(c.programs[0].name, "q5");
	assert_string_equal(c.programs[1].name, "q1");
	/* 16 units are known of one kernel only. */
	assert_int_equal(c.programs[0].count, 2);
	assert_near(c.programs[0].points[0].seconds, 5);
	assert_near(c.programs[0].points[0].joules, 35);
	/* The median of 1, 9 and 2, and 4. */
	assert_near(c.programs[0].points[1].seconds, 6);
	assert_near(c.programs[0].points[1].joules, 50);
	assert_near(c.programs[1].points[0].seconds, 7);
	gpu_curves_release(&c);
}

static void test_activity_tells_energy(void **state)
{
	struct gpu_curves c;

	(void)state;
	parse(&c, "kernel,units,seconds,activity,joules\na,22,2,0.5,\nb,22,1,,7\n");
	assert_near(c.programs[0].points[0].joules, 2 * (80 + 19 + 147 * 0.25) + 7);
	gpu_curves_release(&c);
	parse(&c, "kernel,units,seconds,activity\na,22,2,0.5\nb,22,1,\n");
	assert_true(isnan(c.programs[0].points[0].joules));
	gpu_curves_release(&c);
}

static void test_wrong_lines(void **state)
{
	(void)state;
	refuse("", "nothing was measured");
	refuse("units,seconds\n", "nothing was measured");
	refuse("units,time\n1,2\n", "line 1: no column is named \"seconds\"");
	refuse("units,seconds,units\n1,2,3\n", "two columns are named \"units\"");
	refuse("units,seconds\n1,2\n1\n", "line 3: 1 fields");
	refuse("units,seconds\n1,2,3\n", "line 2: 3 fields");
	refuse("units,seconds\n1,\n", "line 2: seconds is empty");
	refuse("units,seconds\n0,1\n", "line 2: units");
	refuse("units,seconds\n1,-1\n", "line 2: seconds");
	refuse("units,seconds\n1,nan\n", "line 2: seconds");
	refuse("units,seconds\n1,inf\n", "line 2: seconds");
	refuse("units,seconds,activity\n1,1,2\n", "line 2: activity");
	refuse("units,seconds,activity\n64,1,0.5\n", "say units=64");
	refuse("program,kernel,units,seconds\np,a,1,1\np,b,2,1\n",
		"program \"p\": no number of units");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_program),
		cmocka_unit_test(test_kernels_are_added_and_runs_are_not),
		cmocka_unit_test(test_activity_tells_energy),
		cmocka_unit_test(test_wrong_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
