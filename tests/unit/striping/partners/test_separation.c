/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of which job leaves its co-runners for its limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/partners/separation.h"

/* A job that came last, beside job 5, whose limit cannot be kept. */
static struct separation unkept(void)
{
	struct separation s = {.job_id = 10,
		.start = 1000,
		.ran_s = 60,
		.may_leave = true,
		.unkept = true,
		.measured = true};

	separation_beside(&s, 5, 900);
	return s;
}

static void who_came_last_leaves(void **state)
{
	struct separation s = unkept();

	(void)state;
	assert_true(separation_leaves(&s));
	/* Beside somebody who came later it stays: that one could do so to it on purpose. */
	separation_beside(&s, 11, 1001);
	assert_true(separation_due(&s));
	assert_false(separation_leaves(&s));
	/* Of two that came in the same second the one with the greater number came last. */
	s = unkept();
	separation_beside(&s, 9, 1000);
	assert_true(separation_leaves(&s));
	separation_beside(&s, 12, 1000);
	assert_false(separation_leaves(&s));
	/* Everybody else has gone. */
	s = unkept();
	s.count = 0;
	assert_false(separation_leaves(&s));
}

static void what_keeps_it(void **state)
{
	struct separation s = unkept();

	(void)state;
	s.may_leave = false;
	assert_false(separation_leaves(&s));
	s = unkept();
	s.distrusted = true;
	assert_false(separation_leaves(&s));
	s = unkept();
	s.unkept = false;
	assert_false(separation_leaves(&s));
	/* More than five minutes of work are not lost. */
	s = unkept();
	s.ran_s = SEPARATION_WITHIN_S;
	assert_true(separation_leaves(&s));
	s.ran_s++;
	assert_false(separation_leaves(&s));
}

static void how_often(void **state)
{
	struct separation s = unkept();
	const uint32_t five = 5;

	(void)state;
	apart_add(&s.apart, 0, &five, 1);
	/* Once from each job. */
	assert_false(separation_leaves(&s));
	separation_beside(&s, 6, 900);
	assert_true(separation_leaves(&s));
	s.apart.times = APART_MOST;
	assert_false(separation_leaves(&s));
}

static void a_probation_without_measurements_ends(void **state)
{
	struct separation s = unkept();

	(void)state;
	s.unkept = s.measured = false;
	s.ran_s = SEPARATION_BLIND_S;
	assert_false(separation_leaves(&s));
	s.probation = true;
	assert_true(separation_leaves(&s));
	s.ran_s--;
	assert_false(separation_leaves(&s));
	s.ran_s = SEPARATION_WITHIN_S;
	assert_true(separation_leaves(&s));
	s.measured = true;
	assert_false(separation_leaves(&s));
}

static void more_co_runners_than_are_remembered(void **state)
{
	struct separation s = unkept();

	(void)state;
	for (uint32_t id = 20; id < 40; id++)
		separation_beside(&s, id, 500);
	assert_int_equal(s.count, APART_JOBS);
	assert_true(separation_leaves(&s));
	separation_beside(&s, 40, 2000);
	assert_false(separation_leaves(&s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_came_last_leaves),
		cmocka_unit_test(what_keeps_it),
		cmocka_unit_test(how_often),
		cmocka_unit_test(a_probation_without_measurements_ends),
		cmocka_unit_test(more_co_runners_than_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
