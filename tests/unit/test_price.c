/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the price policies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "accounting/price.h"

/* A job that takes 5/4 as long has D = 0.2: 4/5 of the solo price is 16/25 of what Slurm charges.
 */
static void thesis_example(void **state)
{
	double degradation = 1 - 4.0 / 5.0;

	(void)state;
	assert_int_equal(price_charge(PRICE_THESIS, 100000, degradation, 0), 64000);
	assert_int_equal(price_charge(PRICE_SOLO, 100000, degradation, 0), 80000);
	assert_int_equal(price_charge(PRICE_NONE, 100000, degradation, 0), 100000);
}

static void paused_time_is_free(void **state)
{
	(void)state;
	assert_int_equal(price_charge(PRICE_THESIS, 10000, 0, 0.01), 9900);
	assert_int_equal(price_charge(PRICE_THESIS, 10000, 0.2, 0.5), 3200);
	assert_int_equal(price_charge(PRICE_SOLO, 10000, 0.2, 0.5), 4000);
	assert_int_equal(price_charge(PRICE_NONE, 10000, 0.2, 0.5), 10000);
}

static void no_data_is_full_price(void **state)
{
	(void)state;
	assert_int_equal(price_charge(PRICE_THESIS, 10000, NAN, 0.5), 10000);
	assert_int_equal(price_charge(PRICE_SOLO, 10000, NAN, 0), 10000);
}

static void never_outside_zero_to_raw(void **state)
{
	static const double d[] = {-10, -0.5, -1e-9, 0, 0.3, 1, 1.5, INFINITY, -INFINITY};
	static const double z[] = {-1, 0, 0.5, 1, 2, NAN};
	static const uint64_t raw[] = {
		0, 1, 999, 1000000, UINT32_MAX, (uint64_t)1 << 53, UINT64_MAX};

	(void)state;
	for (int p = PRICE_THESIS; p <= PRICE_NONE; p++)
		for (size_t i = 0; i < sizeof(d) / sizeof(d[0]); i++)
			for (size_t j = 0; j < sizeof(z) / sizeof(z[0]); j++)
				for (size_t k = 0; k < sizeof(raw) / sizeof(raw[0]); k++)
					assert_true(price_charge(p, raw[k], d[i], z[j]) <= raw[k]);
	assert_int_equal(price_charge(PRICE_THESIS, 5000, -0.3, 0), 5000);
	assert_int_equal(price_charge(PRICE_THESIS, 5000, -0.3, 0.1), 4500);
	assert_int_equal(price_charge(PRICE_THESIS, 5000, 1, 0), 0);
	assert_int_equal(price_charge(PRICE_THESIS, 5000, 2, 0), 0);
	assert_int_equal(price_charge(PRICE_THESIS, 5000, 0.5, NAN), 1250);
	assert_true(price_charge(PRICE_THESIS, UINT64_MAX, 0, 0) == UINT64_MAX);
}

static void rounds_to_nearest(void **state)
{
	(void)state;
	assert_int_equal(price_charge(PRICE_SOLO, 10, 0.26, 0), 7);
	assert_int_equal(price_charge(PRICE_SOLO, 10, 0.24, 0), 8);
	assert_int_equal(price_charge(PRICE_SOLO, 1, 0.5, 0), 1);
	assert_int_equal(price_charge(PRICE_SOLO, 1, 0.51, 0), 0);
}

static void names(void **state)
{
	enum price_policy p = PRICE_NONE;
	struct errmsg err = {""};

	(void)state;
	for (int i = PRICE_THESIS; i <= PRICE_NONE; i++) {
		assert_int_equal(price_policy_parse(price_policy_name(i), &p, &err), 0);
		assert_int_equal(p, i);
	}
	assert_int_equal(price_policy_parse("THESIS", &p, &err), 0);
	assert_int_equal(p, PRICE_THESIS);
	assert_int_equal(price_policy_parse("free", &p, &err), -1);
	assert_int_equal(p, PRICE_THESIS);
	assert_non_null(strstr(err.text, "free"));
	assert_non_null(strstr(err.text, "solo"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thesis_example),
		cmocka_unit_test(paused_time_is_free),
		cmocka_unit_test(no_data_is_full_price),
		cmocka_unit_test(never_outside_zero_to_raw),
		cmocka_unit_test(rounds_to_nearest),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
