/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/settle/pass_order.c: nobody's first job waits for another's many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "accounting/settle/pass_order.h"

static void each_users_first(void **state)
{
	struct pass_job job[] = {{30, 7, 1, false, 0}, {20, 7, 2, false, 0}, {10, 7, 3, false, 0},
		{99, 8, 4, false, 0}, {5, 9, 6, false, 0}, {5, 9, 5, false, 0}};
	static const uint32_t ids[] = {5, 3, 4, 6, 2, 1};

	(void)state;
	pass_order(job, 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(job[i].job_id, ids[i]);
	assert_int_equal(job[5].rank, 2);
}

/* The jobs of thousands come in any order, and the one of somebody else is among the first two. */
static void thousands_keep_nobody_off(void **state)
{
	enum { JOBS = 20000 };
	static struct pass_job job[JOBS];

	(void)state;
	for (int i = 0; i < JOBS; i++)
		job[i] = (struct pass_job){(i * 7919) % JOBS, 1, (uint32_t)i + 1, false, 0};
	job[JOBS / 3].uid = 2;
	job[JOBS / 3].key = INT64_MAX;
	pass_order(job, JOBS);
	assert_int_equal(job[0].uid, 1);
	assert_int_equal(job[0].key, 0);
	assert_int_equal(job[1].uid, 2);
	for (int i = 3; i < JOBS; i++)
		assert_true(job[i - 1].key < job[i].key);
}

/* Nobody's first job that ends in days comes before somebody's second that ends in a minute. */
static void who_has_time_comes_later(void **state)
{
	struct pass_job job[] = {{900, 7, 1, true, 0}, {20, 8, 2, false, 0}, {10, 8, 3, false, 0},
		{800, 8, 4, true, 0}, {950, 7, 5, true, 0}};
	static const uint32_t ids[] = {3, 2, 4, 1, 5};

	(void)state;
	pass_order(job, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(job[i].job_id, ids[i]);
}

static void none(void **state)
{
	(void)state;
	pass_order(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_users_first),
		cmocka_unit_test(thousands_keep_nobody_off),
		cmocka_unit_test(who_has_time_comes_later),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
