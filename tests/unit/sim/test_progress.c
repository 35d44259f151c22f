/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests when a long simulation says how far it is, and how. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sim/progress.h"

/* A log gets a line a minute, which counts from the last one and not from the policy's begin. */
static void test_log(void **state)
{
	struct progress p = {.terminal = false, .began_ms = 5000, .shown_ms = 1000};
	char text[128];

	(void)state;
	assert_false(progress_due(&p, 60999));
	assert_true(progress_due(&p, 66000));
	assert_string_equal(progress_text(&p, 66000, "ours", 34000, 100000, 7, text, sizeof(text)),
		"tests/sim/run: ours: 34,000 of 100,000 jobs after 61 s\n");
	assert_false(progress_due(&p, 66000 + 59999));
	assert_true(progress_due(&p, 66000 + 60000));
	assert_string_equal(progress_text(&p, 7000, "ours", 999, 12034005, 7, text, sizeof(text)),
		"tests/sim/run: ours: 999 of 12,034,005 jobs after 2 s\n");
}

static void test_terminal(void **state)
{
	struct progress p = {.terminal = true, .shown_ms = 1000};
	char text[128];

	(void)state;
	assert_false(progress_due(&p, 1199));
	assert_true(progress_due(&p, 1200));
	assert_string_equal(progress_text(&p, 1200, "random", 34000, 100000, 7, text, sizeof(text)),
		"\rrandom     34000 of 100000 jobs, 7 wait ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log), cmocka_unit_test(test_terminal)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
