/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/price_rules.c: which policy a job has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/price_rules.h"

static const char *chosen(const struct price_rules *rules, const char *partition, const char *qos)
{
	static char buf[PRICE_MAX_TEXT];

	return price_policy_format(price_rules_choose(rules, partition, qos), buf);
}

static void rules_choose(void **state)
{
	struct poppa_settings s;
	struct price_rules rules;
	struct errmsg err = {""};
	char text[SETTINGS_MAX_TEXT];

	(void)state;
	assert_int_equal(
		settings_parse("poppa_price=solo/cap=0.5,poppa_price_partition=debug:none,"
			       "poppa_price_qos=high:linear:2,poppa_price_partition=long:thesis",
			&s, &err),
		0);
	/* What is printed can be read again. */
	assert_int_equal(settings_parse(settings_format(&s, text, sizeof(text)), &s, &err), 0);
	assert_int_equal(price_rules_parse(&s, &rules, &err), 0);
	assert_string_equal(chosen(&rules, NULL, NULL), "solo/cap=0.5");
	assert_string_equal(chosen(&rules, "other", "normal"), "solo/cap=0.5");
	assert_string_equal(chosen(&rules, "debug", "normal"), "none");
	assert_string_equal(chosen(&rules, "Debug", NULL), "none");
	assert_string_equal(chosen(&rules, "long", "normal"), "thesis");
	assert_string_equal(chosen(&rules, "debug", "high"), "linear:2");
	assert_string_equal(chosen(&rules, "high", "debug"), "solo/cap=0.5");
}

static void rules_refused(void **state)
{
	static const char *const bad[][2] = {{"poppa_price=free", "poppa_price=free"},
		{"poppa_price_partition=debug", "poppa_price_partition"},
		{"poppa_price_partition=:solo", "poppa_price_partition"},
		{"poppa_price_qos=high:cheap", "cheap"},
		{"poppa_price_qos=high:solo,poppa_price_qos=HIGH:none", "twice"}};
	struct poppa_settings s;
	struct price_rules rules;
	struct errmsg err = {""};

	(void)state;
	settings_defaults(&s);
	assert_int_equal(price_rules_parse(&s, &rules, &err), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		/* By every part that reads settings, poppad as well as who prices. */
		assert_int_equal(settings_parse(bad[i][0], &s, &err), -1);
		if (!strstr(err.text, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.text);
		assert_string_equal(s.price, "thesis");
		assert_string_equal(s.price_rules, "");
	}
	strcpy(s.price, "free");
	assert_int_equal(price_rules_parse(&s, &rules, &err), -1);
	assert_int_equal(rules.count, 0);
	assert_string_equal(chosen(&rules, "debug", "high"), "thesis");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_choose),
		cmocka_unit_test(rules_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
