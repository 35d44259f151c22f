/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/units.c: what is taken, and what is refused with a message that shows
 * how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/units.h"

static void sizes(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} good[] = {{"32M", INT64_C(32) << 20}, {"64k", 65536}, {"1.5G", INT64_C(3) << 29},
		{"0", 0}, {"0K", 0}};
	static const char *const bad[] = {
		"", "32", "M", "-1M", "32MB", "32 M", "1e300G", "0x1M", "9e18K", "32T"};
	struct errmsg err;
	char buf[32];
	int64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(units_parse_size(good[i].text, &bytes, &err), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(units_parse_size(bad[i], &bytes, &err), -1);
		assert_non_null(strstr(err.text, "such as 32M"));
	}
	assert_string_equal(units_format_size(INT64_C(32) << 20, buf, sizeof(buf)), "32M");
	assert_string_equal(units_format_size(1536 << 10, buf, sizeof(buf)), "1536K");
	assert_string_equal(units_format_size(INT64_C(2) << 30, buf, sizeof(buf)), "2G");
	assert_string_equal(units_format_size(0, buf, sizeof(buf)), "0");
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {{"200ms", 200000000}, {"3200us", 3200000}, {"1.5s", 1500000000}, {"0", 0},
		{"7ns", 7}, {"2h", 7200000000000}, {"10m", 600000000000}};
	static const char *const bad[] = {
		"", "200", "ms", "-3ms", " 3ms", "3 ms", "3msx", "0x10ms", "inf", "nan", "1e30s"};
	struct errmsg err;
	int64_t ns;
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(units_parse_duration(good[i].text, &ns, &err), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ns = 42;
		assert_int_equal(units_parse_duration(bad[i], &ns, &err), -1);
		assert_int_equal(ns, 42);
		assert_non_null(strstr(err.text, "200ms"));
	}
	assert_string_equal(units_format_duration(3200000, buf, sizeof(buf)), "3200us");
	assert_string_equal(units_format_duration(0, buf, sizeof(buf)), "0");
	assert_string_equal(units_format_duration(60 * NS_PER_S, buf, sizeof(buf)), "1m");
}

static void numbers(void **state)
{
	struct errmsg err;
	int64_t i;
	double d;

	(void)state;
	assert_int_equal(units_parse_int("42", 0, 100, &i, &err), 0);
	assert_int_equal(i, 42);
	assert_int_equal(units_parse_int("101", 0, 100, &i, &err), -1);
	assert_int_equal(units_parse_int("4x", 0, 100, &i, &err), -1);
	assert_int_equal(units_parse_int("", 0, 100, &i, &err), -1);
	assert_int_equal(units_parse_double("0.5", 0, 1, &d, &err), 0);
	assert_int_equal(units_parse_double("nan", 0, 1, &d, &err), -1);
	assert_int_equal(units_parse_percent("0.5%", &d, &err), 0);
	assert_float_equal(d, 0.005, 1e-12);
	assert_int_equal(units_parse_percent("101", &d, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),
		cmocka_unit_test(sizes),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
