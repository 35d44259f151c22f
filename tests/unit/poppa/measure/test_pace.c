/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/pace.c: fewer blocks for a tight interval, more for a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "poppa/measure/pace.h"
#include "../noisy_block.h"

static void tight_is_slow(void **state)
{
	struct pace p = {0};
	struct est_block b;
	int at[4] = {-1, -1, -1, -1};

	(void)state;
	for (int i = 0; i < 500; i++) {
		b = noisy_block(0.7, 1, 0.03);
		assert_false(pace_add(&p, &b, i > 2 ? 0.1 / sqrt(i) : NAN, (uint64_t)i, 20));
		assert_in_range(pace_level(&p), 0, PACE_MAX_LEVEL);
		/* Short runs get all the blocks that there are. */
		if (i < 20)
			assert_int_equal(pace_level(&p), 0);
		if (at[pace_level(&p)] < 0)
			at[pace_level(&p)] = i;
	}
	assert_true(at[1] >= 25 && at[1] < 30 && at[2] > at[1] && at[3] > at[2]);
	assert_int_equal(pace_level(&p), PACE_MAX_LEVEL);
	/* A result that is no more leads back at once, a wide interval step by step. */
	for (int level = 2; level >= 0; level--) {
		b = noisy_block(0.7, 1, 0.03);
		pace_add(&p, &b, 0.1, 400, 20);
		assert_int_equal(p.level, level);
	}
	p.level = PACE_MAX_LEVEL;
	pace_add(&p, &b, NAN, 400, 20);
	assert_int_equal(p.level, 0);
}

static struct pace settled(double co, double solo)
{
	struct pace p = {0};

	for (int i = 0; i < 40; i++) {
		struct est_block b = noisy_block(co, solo, 0.03);

		assert_false(pace_add(&p, &b, 0.001, 100, 20));
	}
	assert_int_equal(pace_level(&p), PACE_MAX_LEVEL);
	return p;
}

static void changes_are_watched(void **state)
{
	/* The rate of the job, or what its co-runner costs it. */
	static const double after[][2] = {{0.35, 0.5}, {0.4, 1}, {1.4, 2}, {0.95, 1}};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct pace p = settled(0.7, 1);
		struct est_block b = noisy_block(after[i][0], after[i][1], 0.03);
		int blocks = 0;

		assert_false(pace_add(&p, &b, 0.001, 100, 20));
		assert_true(pace_level(&p) < PACE_MAX_LEVEL);
		b = noisy_block(after[i][0], after[i][1], 0.03);
		assert_true(pace_add(&p, &b, 0.001, 100, 20));
		while (pace_level(&p) < PACE_MAX_LEVEL && blocks < 100) {
			b = noisy_block(after[i][0], after[i][1], 0.03);
			assert_false(pace_add(&p, &b, 0.001, 100, 20));
			blocks++;
		}
		assert_in_range(blocks, 5, 20);
	}
}

/* One wild block is no phase. */
static void outliers_are_not(void **state)
{
	struct pace p = settled(0.7, 1);

	(void)state;
	for (int i = 0; i < 30; i++) {
		struct est_block b = i % 5 ? noisy_block(0.7, 1, 0.03) : noisy_block(0.2, 3, 0.03);

		assert_false(pace_add(&p, &b, 0.001, 100, 20));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tight_is_slow),
		cmocka_unit_test(changes_are_watched),
		cmocka_unit_test(outliers_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
