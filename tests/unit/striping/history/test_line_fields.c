/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of lines: how many, and which numbers are taken. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "striping/history/line_fields.h"

static void cuts_at_tabs(void **state)
{
	char two[] = "a\tb c", empty[] = "", ends[] = "a\t", more[] = "1\t2\t3\t4";
	char *field[3];

	(void)state;
	assert_int_equal(line_fields(two, field, 3), 2);
	assert_string_equal(field[0], "a");
	assert_string_equal(field[1], "b c");
	assert_int_equal(line_fields(empty, field, 3), 1);
	assert_string_equal(field[0], "");
	assert_int_equal(line_fields(ends, field, 3), 2);
	assert_string_equal(field[1], "");
	assert_int_equal(line_fields(more, field, 3), 4);
	assert_string_equal(field[2], "3");
}

static void reads_whole_fields(void **state)
{
	double number;
	uint32_t id;
	long long when;

	(void)state;
	assert_true(line_number("0.5", 0, 1, &number) && number == 0.5);
	assert_true(line_number("inf", 0, INFINITY, &number));
	assert_false(line_number("1.5", 0, 1, &number));
	assert_false(line_number("-1", 0, 1, &number));
	assert_false(line_number("nan", 0, 1, &number));
	assert_false(line_number("", 0, 1, &number));
	assert_false(line_number("1x", 0, 1, &number));
	assert_true(line_id("4294967295", &id) && id == UINT32_MAX);
	assert_false(line_id("4294967296", &id));
	assert_false(line_id("99999999999999999999", &id));
	assert_false(line_id("-1", &id));
	assert_false(line_id(" 1", &id));
	assert_false(line_id("", &id));
	assert_false(line_id("1 ", &id));
	assert_true(line_time("-5", &when) && when == -5);
	assert_false(line_time("", &when));
	assert_false(line_time("5s", &when));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_at_tabs),
		cmocka_unit_test(reads_whole_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
