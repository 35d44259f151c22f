/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what groups of programs are expected to do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/reuse/forecast.h"
#include "unit/striping/reuse/histograms.h"

static const struct forecast_machine machine = {
	.hit_cycles = 1, .levels = 2, .level = {{128, 20}, {1000, 100}}};

/* Rates and miss rates agree: cycles of a reference are those of instructions, hits and misses. */
static void agree(void **state)
{
	struct reuse_histogram h = at_distance(500, 10);
	struct miss_rate_member m = {.h = &h};
	double miss[FORECAST_LEVELS_MAX];
	double last = forecast_group(&machine, &m, 1, MISS_COMB, miss);

	(void)state;
	assert_true(last == miss[1] && miss[0] > miss[1]);
	assert_true(fabs(last - miss_rate_alone(&h, 1000)) < 1e-6);
	assert_true(fabs(1 / m.rate - (3 + 1 + 20 * miss[0] + 100 * miss[1])) < 0.01);
}

/* One that misses much is slow, and takes less of the cache than if it were not. */
static void slow_ones(void **state)
{
	struct reuse_histogram small = at_distance(200, 1), large = at_distance(100000, 500);
	struct miss_rate_member m[] = {{.h = &small}, {.h = &large}},
				equal[] = {{.h = &small, .rate = 1}, {.h = &large, .rate = 1}};
	struct miss_rate_member alone = {.h = &small};

	(void)state;
	forecast_group(&machine, m, 2, MISS_COMB, NULL);
	forecast_group(&machine, &alone, 1, MISS_COMB, NULL);
	miss_rate_group(equal, 2, 1000, MISS_COMB);
	assert_true(m[1].rate < m[0].rate / 2);
	assert_true(m[0].rate < alone.rate);
	assert_true(m[0].miss_rate < equal[0].miss_rate);
}

/* A histogram that does not know its instructions counts one for each reference. */
static void unknown_instructions(void **state)
{
	struct reuse_histogram h = at_distance(10, 0);
	struct miss_rate_member m = {.h = &h};

	(void)state;
	h.instructions = 0;
	forecast_group(&machine, &m, 1, MISS_AVG, NULL);
	assert_true(fabs(m.rate - 0.5) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agree),
		cmocka_unit_test(slow_ones),
		cmocka_unit_test(unknown_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
