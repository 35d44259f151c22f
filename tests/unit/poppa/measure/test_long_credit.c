/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/long_credit.c: who may be held for long, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/units.h"
#include "poppa/measure/long_credit.h"

#define LENGTH (200 * NS_PER_MS)
#define BUDGET 0.001

static void grows_with_time_beside_others(void **state)
{
	struct long_credit c = {.left_ns = 0};

	(void)state;
	long_credit_add(&c, 0, BUDGET, LENGTH);
	assert_int_equal(c.left_ns, LONG_CREDIT_FIRST * LENGTH);
	long_credit_add(&c, 10 * NS_PER_S, BUDGET, LENGTH);
	assert_int_equal(c.left_ns, LONG_CREDIT_FIRST * LENGTH + 10 * NS_PER_MS);
	/* What is not used is not saved for ever. */
	long_credit_add(&c, 3600 * NS_PER_S, BUDGET, LENGTH);
	assert_int_equal(c.left_ns, LONG_CREDIT_MOST * LENGTH);
	long_credit_take(&c, LENGTH);
	assert_int_equal(c.left_ns, (LONG_CREDIT_MOST - 1) * LENGTH);
	/* Shorter blocks from now on. */
	long_credit_add(&c, 0, BUDGET, LENGTH / 10);
	assert_int_equal(c.left_ns, LONG_CREDIT_MOST * LENGTH / 10);
	assert_int_equal(c.beside_ns, 3610 * NS_PER_S);
}

static void a_job_without_credit_is_not_held(void **state)
{
	struct long_credit c[3] = {{.begun = true, .left_ns = LENGTH},
		{.begun = true, .left_ns = LENGTH}, {.begun = true, .left_ns = LENGTH}};
	const struct long_credit *all[] = {&c[0], &c[1], &c[2]};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(long_credit_suffices(all, 3, i, LENGTH));
	long_credit_take(&c[1], 1);
	/* Its own credit does not matter. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(long_credit_suffices(all, 3, i, LENGTH), i == 1);
	assert_true(long_credit_suffices(all, 3, 0, LENGTH / 4));
	all[2] = NULL;
	assert_false(long_credit_suffices(all, 3, 1, 0));
	assert_false(long_credit_suffices(all, 3, 0, 0));
	assert_true(long_credit_suffices(all, 3, 2, LENGTH / 4));
}

/* New partners all the time, each of which would have long blocks at once. */
static void partners_that_come_and_go_spend_no_more(void **state)
{
	struct long_credit c = {.left_ns = 0};
	int64_t held = 0;

	(void)state;
	for (int second = 0; second < 3600; second++) {
		struct long_credit fresh = {.left_ns = 0};
		const struct long_credit *all[] = {&c, &fresh};

		long_credit_add(&c, NS_PER_S, BUDGET, LENGTH);
		long_credit_add(&fresh, 0, BUDGET, LENGTH);
		if (!long_credit_suffices(all, 2, 1, LENGTH))
			continue;
		long_credit_take(&c, LENGTH);
		held += LENGTH;
	}
	assert_true(held <= 3600 * NS_PER_S / 1000 + LONG_CREDIT_FIRST * LENGTH);
	assert_true(held >= 3600 * NS_PER_S / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_with_time_beside_others),
		cmocka_unit_test(a_job_without_credit_is_not_held),
		cmocka_unit_test(partners_that_come_and_go_spend_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
