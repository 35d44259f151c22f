/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of random numbers that follow from what they are for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "striping/partners/random_bits.h"

#define DRAWS 100000

/* The first numbers of SplitMix64 that begins with 0, as published with it. */
static void bits_are_those_of_the_generator(void **state)
{
	const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);

	(void)state;
	assert_true(random_mix(0) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(random_mix(step) == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(random_mix(2 * step) == UINT64_C(0x06c45d188009454f));
}

static void uniform_fills_the_interval(void **state)
{
	int tenth[10] = {0};

	(void)state;
	assert_true(random_uniform(0) == 0);
	assert_true(random_uniform(UINT64_MAX) < 1);
	for (uint64_t i = 0; i < DRAWS; i++)
		tenth[(int)(10 * random_uniform(random_mix(i)))]++;
	/* Five standard deviations of a tenth are 474. */
	for (int i = 0; i < 10; i++)
		assert_in_range(tenth[i], DRAWS / 10 - 474, DRAWS / 10 + 474);
}

static void normal_has_its_moments(void **state)
{
	double sum = 0, squares = 0;
	int within = 0;

	(void)state;
	for (uint64_t i = 0; i < DRAWS; i++) {
		double z = random_normal(random_mix(i));

		assert_true(isfinite(z));
		sum += z;
		squares += z * z;
		within += fabs(z) <= 1.645;
	}
	assert_true(isfinite(random_normal(0)) && isfinite(random_normal(UINT64_MAX)));
	assert_true(fabs(sum / DRAWS) < 0.016);
	assert_true(fabs(squares / DRAWS - 1) < 0.023);
	assert_true(fabs((double)within / DRAWS - 0.9) < 0.005);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits_are_those_of_the_generator),
		cmocka_unit_test(uniform_fills_the_interval),
		cmocka_unit_test(normal_has_its_moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
