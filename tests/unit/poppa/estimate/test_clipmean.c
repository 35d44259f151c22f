/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/clipmean.c: a mean that single wild values do not move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "poppa/estimate/clipmean.h"
#include "../noisy_block.h"

static void follows_and_tells_its_error(void **state)
{
	struct clipmean m = {.spread = 0.05};

	(void)state;
	assert_true(isinf(clipmean_variance(&m)));
	clipmean_add(&m, 0.1);
	assert_true(isinf(clipmean_variance(&m)));
	for (int i = 1; i < 1000; i++)
		clipmean_add(&m, 0.2 + noise(0.05));
	assert_int_equal(m.count, 1000);
	assert_float_equal(m.mean, 0.2, 0.01);
	assert_float_equal(m.spread, 0.05, 0.03);
	assert_float_equal(sqrt(clipmean_variance(&m)), 0.05 / sqrt(1000), 0.0005);
}

static void wild_values_hardly_count(void **state)
{
	struct clipmean m = {.spread = 0.05};

	(void)state;
	for (int i = 0; i < 200; i++)
		clipmean_add(&m, i % 20 == 19 ? 1000 : 0.2 + noise(0.05));
	assert_float_equal(m.mean, 0.2, 0.05);
}

/* Values that are all the same leave a spread by which others still count. */
static void spread_never_vanishes(void **state)
{
	struct clipmean m = {.spread = 0.05};

	(void)state;
	for (int i = 0; i < 500; i++)
		clipmean_add(&m, 0);
	assert_true(m.spread > 0);
	for (int i = 0; i < 5000; i++)
		clipmean_add(&m, 1);
	assert_true(m.mean > 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_and_tells_its_error),
		cmocka_unit_test(wild_values_hardly_count),
		cmocka_unit_test(spread_never_vanishes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
