/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of explaining prices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/bill/explain.h"

#include "unit/common/policy_of.h"

static struct explain explained(const char *text, struct explain_facts facts)
{
	struct price_policy policy = policy_of(text);
	struct explain e;

	explain_price(&policy, &facts, &e);
	return e;
}

/* Each kind of price says in words and in numbers what it charges, on its worked example. */
static void each_kind_explains_its_example(void **state)
{
	const struct explain_facts facts = {
		.raw = 100000, .degradation = 0.2, .hi = NAN, .stopped = 0.01};

	(void)state;
	for (const struct price_kind_info *k = price_kinds; k < price_kinds + PRICE_KINDS; k++) {
		struct explain e = explained(k->example.policy, facts);

		assert_int_equal(e.charged, k->example.charged);
		assert_true(fabs(e.product - (double)k->example.charged) < 1e-6);
		assert_int_equal(strncmp(e.formula, "raw x (1 - Z)", 13), 0);
		assert_int_equal(strncmp(e.numbers, "100000 x (1 - 0.01)", 19), 0);
		assert_int_equal(!e.formula[13], !e.numbers[19]);
		assert_null(strchr(e.formula, '$'));
		assert_null(strchr(e.numbers, '$'));
	}
	assert_string_equal(explained("linear:1.5", facts).formula,
		"raw x (1 - Z) x (1 - 1.5 x D), at least 0");
	assert_string_equal(
		explained("linear:1.5", facts).numbers, "100000 x (1 - 0.01) x (1 - 1.5 x 0.2)");
	assert_string_equal(
		explained("tiers:0.2=0.35", facts).numbers, "100000 x (1 - 0.01) x (1 - 0.35)");
}

/* Whatever the policy, the amount that is shown rounds to what is charged. */
static void amounts_are_those_charged(void **state)
{
	static const char *const policies[] = {"thesis", "solo", "linear:1.5", "linear:9", "none",
		"tiers:0.05=0.1:0.2=0.35:0.4=0.6", "thesis/cap=0.3", "thesis/floor=70000",
		"solo/estimate=upper", "thesis/cap=0.9/floor=1/estimate=upper"};

	(void)state;
	for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++)
		for (int i = 0; i < 400; i++) {
			double d = -0.1 + 0.00301 * i, z = (i % 7) / 100.0;
			struct explain e =
				explained(policies[p], (struct explain_facts){.raw = 100000,
							       .degradation = d,
							       .hi = i % 3 ? d + 0.0123 : NAN,
							       .stopped = z});

			if (llabs(llround(e.amount) - (long long)e.charged) > 0 &&
				fabs(e.amount - floor(e.amount) - 0.5) > 1e-3)
				fail_msg("%s at %g: %s = %f, charged %llu", policies[p], d,
					e.numbers, e.amount, (unsigned long long)e.charged);
			assert_true(e.least == e.charged && e.most == e.charged);
		}
}

static void rounded_facts_give_a_range(void **state)
{
	struct explain_facts facts = {.raw = 1000000,
		.degradation = 0.2,
		.hi = NAN,
		.stopped = 0.0061,
		.degradation_off = 0.00005,
		.hi_off = 0.0005,
		.stopped_off = 0.00005};
	struct explain e = explained("thesis", facts);

	(void)state;
	assert_string_equal(e.numbers, "1000000 x (1 - 0.0061) x (1 - 0.2)^2");
	assert_string_equal(e.formula, "raw x (1 - Z) x (1 - D)^2");
	assert_true(e.least < 636096 && e.least > 635900 && e.most > 636096 && e.most < 636300);
	assert_true(fabs(e.solo - 795120) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_explains_its_example),
		cmocka_unit_test(amounts_are_those_charged),
		cmocka_unit_test(rounded_facts_give_a_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
