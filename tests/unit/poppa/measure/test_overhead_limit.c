/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/overhead_limit.c: shutters cost no more than they may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "common/units.h"
#include "poppa/measure/overhead_limit.h"
#include "poppa/measure/overhead_model.h"
#include "poppa/measure/schedule.h"

static void period_by_model(void **state)
{
	const int64_t s = 3200 * NS_PER_US;
	struct overhead model;
	struct errmsg err;

	(void)state;
	assert_int_equal(overhead_limit_period(2, s, 400 * NS_PER_MS, 0.005), 400 * NS_PER_MS);
	assert_int_equal(overhead_limit_period(2, s, 50 * NS_PER_MS, 0), 50 * NS_PER_MS);
	assert_int_equal(overhead_limit_period(2, s, 0, 0.005), 0);
	for (int jobs = 2; jobs <= 16; jobs++) {
		int64_t p = overhead_limit_period(jobs, s, 50 * NS_PER_MS, 0.005);

		assert_true(p > 50 * NS_PER_MS);
		assert_int_equal(overhead_model(jobs, s, p, &model, &err), 0);
		assert_true(model.paused_fraction <= 0.005 && model.paused_fraction > 0.0049);
	}
}

static void limit_by_measurement(void **state)
{
	struct overhead_spent spent = {.cores = 4};
	double share[] = {0.009, 0.009, 0.0045, 0.0053, 0.0045, 0.001, 0.001, 0.001};
	int want[] = {0, 1, 2, 2, 2, 2, 1, 0}, changes = 0;
	struct overhead_limit limit;

	(void)state;
	overhead_limit_init(&limit);
	assert_true(isnan(limit.held));
	/* Once a second; windows are longer. What a window held shows at its end. */
	for (int s = 0; s <= 8 * OVERHEAD_WINDOW_S; s++) {
		int window = s ? (s - 1) / OVERHEAD_WINDOW_S : 0;

		if (s) {
			spent.now_ns += NS_PER_S;
			spent.co_ns += 2 * NS_PER_S;
			spent.held_ns += (int64_t)(2 * NS_PER_S * share[window]);
			spent.cpu_ns += (int64_t)(4 * NS_PER_S * share[window] / 2);
		}
		assert_int_equal(limit.level, want[window]);
		changes += overhead_limit_look(&limit, &spent, 0.005);
	}
	assert_int_equal(changes, 4);
	assert_float_equal(limit.held, 0.001, 1e-6);
	assert_float_equal(limit.cpu, 0.0005, 1e-6);
	assert_int_equal(limit.level, 0);
	/* The daemon's CPU time counts by itself. */
	for (int i = 0; i < OVERHEAD_WINDOW_S; i++) {
		spent.now_ns += NS_PER_S;
		spent.co_ns += NS_PER_S;
		spent.cpu_ns += 4 * NS_PER_S / 100;
		changes += overhead_limit_look(&limit, &spent, 0.005);
	}
	assert_int_equal(changes, 5);
	assert_int_equal(limit.level, 1);
	/* Without co-located time nothing is learnt; without a cap there is no level. */
	spent.now_ns += 100 * NS_PER_S;
	spent.cpu_ns += 100 * NS_PER_S;
	assert_false(overhead_limit_look(&limit, &spent, 0.005));
	limit.level = 3;
	for (int i = 0; i <= OVERHEAD_WINDOW_S; i++) {
		spent.now_ns += NS_PER_S;
		spent.co_ns += NS_PER_S;
		spent.held_ns += NS_PER_S / 2;
		overhead_limit_look(&limit, &spent, 0);
	}
	assert_int_equal(limit.level, 0);
}

/* However dear a block is, the level ends somewhere. */
static void level_is_bounded(void **state)
{
	struct overhead_spent spent = {.cores = 4};
	struct overhead_limit limit;

	(void)state;
	overhead_limit_init(&limit);
	for (int i = 0; i < (SCHEDULE_MAX_LEVEL + 3) * (OVERHEAD_WINDOW_S + 1); i++) {
		overhead_limit_look(&limit, &spent, 0.005);
		spent.now_ns += NS_PER_S;
		spent.co_ns += NS_PER_S;
		spent.held_ns += NS_PER_S / 2;
	}
	assert_int_equal(limit.level, SCHEDULE_MAX_LEVEL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(period_by_model),
		cmocka_unit_test(limit_by_measurement),
		cmocka_unit_test(level_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
