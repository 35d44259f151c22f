/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/price_policy.c: the texts of policies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "unit/common/policy_of.h"

static void text_and_back(void **state)
{
	static const char *const same[] = {"thesis", "solo", "linear:1.5", "none",
		"tiers:0.05=0.1:0.2=0.35", "thesis/cap=0.5",
		"solo/cap=0.25/floor=100/estimate=upper"};
	char buf[PRICE_MAX_TEXT];
	struct price_policy p;

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		p = policy_of(same[i]);
		assert_string_equal(price_policy_format(&p, buf), same[i]);
	}
	p = policy_of("THESIS/estimate=POINT/cap=1");
	assert_string_equal(price_policy_format(&p, buf), "thesis");
	/* What bills do not show is not in force. */
	p = policy_of("linear:1.23456789/cap=0.9999999999");
	assert_string_equal(price_policy_format(&p, buf), "linear:1.23457");
	assert_true(p.factor == 1.23457 && p.cap == 1);
}

static void refusals(void **state)
{
	/* The text, and what the message must name. */
	static const char *const bad[][2] = {{"free", "free"}, {"free", "solo"}, {"", "thesis"},
		{"/cap=1", "cap=1"}, {"solo:2", "solo"}, {"linear", "linear:1.5"},
		{"linear:-1", "linear:1.5"}, {"linear:x", "linear:1.5"}, {"tiers", "tiers:0.05"},
		{"tiers:", "tiers:0.05"}, {"tiers:0.1", "0.1"}, {"tiers:0.1=2", "tiers:0.05"},
		{"tiers:0.2=0.1:0.1=0.2", "0.1=0.2"}, {"tiers:0.1=0.3:0.2=0.2", "0.2=0.2"},
		{"tiers:0.1234561=0.1:0.1234562=0.2", "0.1234562=0.2"},
		{"tiers:0.1=0:0.2=0:0.3=0:0.4=0:0.5=0:0.6=0:0.7=0:0.8=0:0.9=0", "8"},
		{"thesis/cap", "cap=0.5"}, {"thesis/cap=2", "cap=0.5"},
		{"thesis/floor=-1", "floor=100"}, {"thesis/estimate=lower", "estimate=point|upper"},
		{"thesis/max=1", "max"}};
	struct price_policy p = policy_of("linear:2");
	char buf[PRICE_MAX_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct errmsg err = {""};

		assert_int_equal(price_policy_parse(bad[i][0], &p, &err), -1);
		if (!strstr(err.text, bad[i][1]))
			fail_msg("\"%s\": %s", bad[i][0], err.text);
		assert_string_equal(price_policy_format(&p, buf), "linear:2");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_back),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
