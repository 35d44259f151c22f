/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/record/price.c: what a job is charged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "accounting/record/price.h"

#include "unit/common/policy_of.h"

static uint64_t charge(const char *text, uint64_t raw, double d, double z)
{
	struct price_policy p = policy_of(text);

	return price_charge(&p, raw, d, NAN, z);
}

/* A job that takes 5/4 as long has D = 0.2: 4/5 of the solo price is 16/25 of what Slurm charges.
 */
static void thesis_example(void **state)
{
	double degradation = 1 - 4.0 / 5.0;

	(void)state;
	assert_int_equal(charge("thesis", 100000, degradation, 0), 64000);
	assert_int_equal(charge("solo", 100000, degradation, 0), 80000);
	assert_int_equal(charge("none", 100000, degradation, 0), 100000);
}

/* The worked examples of docs/pricing.md, of which the table of kinds has one each. */
static void worked_examples(void **state)
{
	static const char tiers[] = "tiers:0.05=0.1:0.2=0.35:0.4=0.6";

	(void)state;
	for (const struct price_kind_info *k = price_kinds; k < price_kinds + PRICE_KINDS; k++) {
		assert_int_equal(charge(k->example.policy, 100000, 0.2, 0.01), k->example.charged);
		assert_int_equal(strncmp(k->example.policy, k->name, strlen(k->name)), 0);
	}
	assert_int_equal(charge("thesis", 100000, 0.2, 0.01), 63360);
	assert_int_equal(charge("solo", 100000, 0.2, 0.01), 79200);
	assert_int_equal(charge("linear:1.5", 100000, 0.2, 0.01), 69300);
	assert_int_equal(charge(tiers, 100000, 0.2, 0.01), 64350);
	assert_int_equal(charge("none", 100000, 0.2, 0.01), 99000);
	assert_int_equal(charge("thesis/cap=0.3", 100000, 0.2, 0.01), 69300);
	assert_int_equal(charge("thesis/floor=70000", 100000, 0.2, 0.01), 70000);
	assert_int_equal(charge(tiers, 100000, 0.0499, 0), 100000);
	assert_int_equal(charge(tiers, 100000, 0.05, 0), 90000);
	assert_int_equal(charge(tiers, 100000, 0.9, 0), 40000);
}

static void paused_time_is_free(void **state)
{
	(void)state;
	assert_int_equal(charge("thesis", 10000, 0, 0.01), 9900);
	assert_int_equal(charge("thesis", 10000, 0.2, 0.5), 3200);
	assert_int_equal(charge("solo", 10000, 0.2, 0.5), 4000);
	assert_int_equal(charge("none", 10000, 0.2, 0.5), 5000);
	/* Neither limit brings it back. */
	assert_int_equal(charge("thesis/cap=0", 10000, 0.2, 0.5), 5000);
	assert_int_equal(charge("thesis/floor=9000", 10000, 0.2, 0.5), 5000);
}

static void no_data_is_no_discount(void **state)
{
	(void)state;
	assert_int_equal(charge("thesis", 10000, NAN, 0), 10000);
	assert_int_equal(charge("thesis", 10000, NAN, NAN), 10000);
	/* Time held stopped is known without a degradation, and is nobody's to pay. */
	assert_int_equal(charge("thesis", 10000, NAN, 0.01), 9900);
	assert_int_equal(charge("thesis/floor=9950", 10000, NAN, 0.01), 9900);
	assert_int_equal(charge("solo/estimate=upper", 10000, NAN, 0), 10000);
	assert_int_equal(charge("none", 10000, NAN, 0.5), 5000);
}

static void upper_end_favours_the_user(void **state)
{
	struct price_policy p = policy_of("solo/estimate=upper");

	(void)state;
	assert_int_equal(price_charge(&p, 10000, 0.2, 0.25, 0), 7500);
	assert_int_equal(price_charge(&p, 10000, 0.2, NAN, 0), 8000);
	assert_int_equal(price_charge(&p, 10000, -0.01, 0.005, 0), 9950);
	assert_int_equal(price_charge(&p, 10000, 0.9, 1.2, 0), 0);
	p = policy_of("solo/estimate=point");
	assert_int_equal(price_charge(&p, 10000, 0.2, 0.25, 0), 8000);
}

static void never_outside_zero_to_raw(void **state)
{
	static const double d[] = {-10, -0.5, -1e-9, 0, 0.3, 1, 1.5, INFINITY, -INFINITY};
	static const double z[] = {-1, 0, 0.5, 1, 2, NAN};
	static const uint64_t raw[] = {
		0, 1, 999, 1000000, UINT32_MAX, (uint64_t)1 << 53, UINT64_MAX};
	static const char *const all[] = {"thesis", "solo", "linear:10", "tiers:0=1", "none",
		"thesis/floor=1000000000000", "solo/cap=0.5/estimate=upper"};

	(void)state;
	for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		for (size_t i = 0; i < sizeof(d) / sizeof(d[0]); i++)
			for (size_t j = 0; j < sizeof(z) / sizeof(z[0]); j++)
				for (size_t k = 0; k < sizeof(raw) / sizeof(raw[0]); k++)
					assert_true(charge(all[n], raw[k], d[i], z[j]) <= raw[k]);
	assert_int_equal(charge("thesis", 5000, -0.3, 0), 5000);
	assert_int_equal(charge("thesis", 5000, -0.3, 0.1), 4500);
	assert_int_equal(charge("thesis", 5000, 1, 0), 0);
	assert_int_equal(charge("thesis", 5000, 2, 0), 0);
	assert_int_equal(charge("linear:3", 5000, 0.5, 0), 0);
	assert_int_equal(charge("thesis", 5000, 0.5, NAN), 1250);
	assert_true(charge("thesis", UINT64_MAX, 0, 0) == UINT64_MAX);
}

static void rounds_to_nearest(void **state)
{
	(void)state;
	assert_int_equal(charge("solo", 10, 0.26, 0), 7);
	assert_int_equal(charge("solo", 10, 0.24, 0), 8);
	assert_int_equal(charge("solo", 1, 0.5, 0), 1);
	assert_int_equal(charge("solo", 1, 0.51, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thesis_example),
		cmocka_unit_test(worked_examples),
		cmocka_unit_test(paused_time_is_free),
		cmocka_unit_test(no_data_is_no_discount),
		cmocka_unit_test(upper_end_favours_the_user),
		cmocka_unit_test(never_outside_zero_to_raw),
		cmocka_unit_test(rounds_to_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
