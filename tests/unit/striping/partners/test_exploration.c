/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the account of exploratory starts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/partners/exploration.h"

#define DAY EXPLORATION_FADES_S

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fmax(fabs(b), 1);
}

static void lanes_earn(void **state)
{
	struct exploration x = {.saved = 0}, y = {.saved = 0};

	(void)state;
	assert_false(exploration_may(&x, 1));
	exploration_earn(&x, 0.02, 100, 60);
	assert_true(x.saved > 0.999 * 120 && x.saved < 120);
	assert_true(exploration_may(&x, 119));
	assert_false(exploration_may(&x, 121));
	/* Often or rarely is the same. */
	for (int i = 0; i < 3600; i++)
		exploration_earn(&y, 0.02, 100, 1);
	exploration_earn(&x, 0.02, 100, 3540);
	assert_true(near(x.saved, y.saved));
	/* A clock that stands or goes back earns nothing. */
	exploration_earn(&x, 0.02, 100, 0);
	exploration_earn(&x, 0.02, 100, -60);
	exploration_earn(&x, 0.02, 100, NAN);
	assert_true(near(x.saved, y.saved));
}

/* However long nothing is tried, no more is saved than what the lanes earn in a day; and what is
 * saved fades where no lane has a job, or the site allows none. */
static void savings_end(void **state)
{
	struct exploration x = {.saved = 0};

	(void)state;
	for (int week = 0; week < 4; week++)
		exploration_earn(&x, 0.02, 100, 7 * DAY);
	assert_true(near(x.saved, 2 * DAY));
	exploration_earn(&x, 0.02, 0, DAY);
	assert_true(near(x.saved, 2 * DAY / M_E));
	exploration_earn(&x, 0, 100, 100 * DAY);
	assert_true(x.saved < 1e-6);
}

static void exploratory_starts_cost(void **state)
{
	struct exploration x = {.saved = 1000};

	(void)state;
	assert_false(exploration_may(&x, 0));
	assert_false(exploration_may(&x, NAN));
	assert_false(exploration_may(&x, INFINITY));
	exploration_spend(&x, 7, 4, 200, 50);
	assert_true(near(x.saved, 200));
	assert_false(exploration_may(&x, 201));
	/* It ends after half of its time. */
	exploration_end(&x, 8, 150);
	assert_true(near(x.saved, 200));
	exploration_end(&x, 7, 150);
	assert_true(near(x.saved, 600));
	exploration_end(&x, 7, 150);
	assert_true(near(x.saved, 600));
	/* Who stays longer than it was charged for gives nothing back, and whose clock goes back
	 * not more than it was charged. */
	exploration_spend(&x, 9, 2, 100, 0);
	exploration_end(&x, 9, 101);
	assert_true(near(x.saved, 400));
	exploration_spend(&x, 9, 2, 100, 500);
	exploration_end(&x, 9, 0);
	assert_true(near(x.saved, 400));
	/* A job that starts anew before its end was seen. */
	exploration_spend(&x, 9, 2, 100, 0);
	exploration_spend(&x, 9, 2, 100, 50);
	assert_true(near(x.saved, 400 - 100 - 200));
	assert_int_equal(x.count, 1);
}

static void so_many_at_once(void **state)
{
	struct exploration x = {.saved = 1e6};

	(void)state;
	for (uint32_t i = 1; i <= EXPLORATION_MOST; i++) {
		assert_true(exploration_may(&x, 1));
		exploration_spend(&x, i, 1, 1, 0);
	}
	assert_false(exploration_may(&x, 1));
	/* One that starts nevertheless is charged. */
	exploration_spend(&x, 5000, 1, 1, 0);
	assert_int_equal(x.count, EXPLORATION_MOST);
	assert_true(near(x.saved, 1e6 - EXPLORATION_MOST - 1));
	exploration_end(&x, 100, 1);
	assert_true(exploration_may(&x, 1));
	/* The others are still there. */
	for (uint32_t i = 1; i <= EXPLORATION_MOST; i++)
		exploration_end(&x, i, 0);
	assert_int_equal(x.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_earn),
		cmocka_unit_test(savings_end),
		cmocka_unit_test(exploratory_starts_cost),
		cmocka_unit_test(so_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
