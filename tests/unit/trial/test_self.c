/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what is made of a program whose halves were held: which verdict, and why.
 * tests/cli/trial_self.t runs some. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "trial/self.h"

static struct self_result result_of(double a, double b, double c)
{
	return (struct self_result){.tasks = 4, .rounds = 3, .work = {a, b, c}, .others = 0};
}

static void judged(struct self_result r, bool waits, enum self_verdict verdict, const char *why)
{
	self_judge(&r, "program", waits);
	assert_int_equal(r.verdict, verdict);
	if (!strstr(r.why, why))
		fail_msg("\"%s\" does not say \"%s\"", r.why, why);
}

static void test_verdicts(void **state)
{
	(void)state;
	judged(result_of(1.2, 1.21, 1.22), false, SELF_FEWER, "1.21 times");
	judged(result_of(0.6, 0.61, 0.62), false, SELF_ALL, "0.61 of what all make");
	judged(result_of(0.8, 1.0, 1.2), false, SELF_UNCERTAIN, "has 1 in it");
}

static void test_what_is_not_told(void **state)
{
	struct self_result r;

	(void)state;
	judged(result_of(0.1, 0.11, 0.12), false, SELF_UNCERTAIN, "they wait for each other");
	judged(result_of(1.2, 1.21, 1.22), true, SELF_UNCERTAIN, "publish its progress");
	r = result_of(1.2, 1.21, 1.22);
	r.others = 0.2;
	judged(r, false, SELF_UNCERTAIN, "other processes");
	r = result_of(1.2, 0, 0);
	r.rounds = 1;
	judged(r, false, SELF_UNCERTAIN, "one round");
	r.rounds = 0;
	judged(r, false, SELF_UNCERTAIN, "were counted");
	r.tasks = 1;
	judged(r, false, SELF_UNCERTAIN, "one task");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_what_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
