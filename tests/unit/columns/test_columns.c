/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of lines of comma-separated values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "columns/columns.h"

static const char *const names[] = {"a", "b", "c"};
static const struct columns columns = {"test", names, 3, 2, "a,b"};

static int note(void *arg, char *const *field, int line, struct errmsg *err)
{
	char *out = arg;

	if (!strcmp(field[0], "stop"))
		return errmsg_set(err, "stopped");
	sprintf(out + strlen(out), "%d:%s/%s/%s ", line, field[0], field[1],
		field[2] ? field[2] : "-");
	return 0;
}

static int read_text(const char *text, char *out, struct errmsg *err)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", text);
	*out = '\0';
	return columns_read(&columns, copy, note, out, err);
}

static void test_columns_in_any_order(void **state)
{
	struct errmsg err;
	char out[256];

	(void)state;
	assert_int_equal(read_text("x,b,a\n1,2,3\n", out, &err), 0);
	assert_string_equal(out, "2:3/2/- ");
	assert_int_equal(
		read_text("# made by hand\n\n c\t, a ,b\r\n1,2,3\r\n  \n#\n,,", out, &err), 0);
	assert_string_equal(out, "4:2/3/1 7:// ");
}

static void refuse(const char *text, const char *why)
{
	struct errmsg err = {""};
	char out[256];

	assert_int_equal(read_text(text, out, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void test_errors(void **state)
{
	(void)state;
	refuse("", "nothing was measured");
	refuse("a,b\n", "nothing was measured");
	refuse("a,c\n1,2\n", "line 1: no column is named \"b\"");
	refuse("a,b,a\n1,2,3\n", "two columns are named \"a\"");
	refuse("a,b\n1,2\n1,2,3\n", "line 3: 3 fields, but the first line names 2");
	refuse("a,b\nstop,1\n", "stopped");
}

static void test_numbers(void **state)
{
	char *field[] = {(char *)"1.5", (char *)"", NULL};
	struct errmsg err;
	int64_t whole;
	double real;

	(void)state;
	assert_int_equal(columns_real(&columns, field, 0, 7, 0, 2, &real, &err), 0);
	assert_true(fabs(real - 1.5) < 1e-12);
	assert_int_equal(columns_real(&columns, field, 0, 7, 0, 1, &real, &err), -1);
	assert_non_null(strstr(err.text, "test: line 7: a: "));
	for (int k = 1; k < 3; k++) {
		assert_int_equal(columns_real(&columns, field, k, 7, 0, 2, &real, &err), 0);
		assert_true(isnan(real));
		assert_int_equal(columns_whole(&columns, field, k, 7, 0, 2, &whole, &err), -1);
	}
	assert_non_null(strstr(err.text, "test: line 7: c: it is missing"));
	assert_int_equal(columns_whole(&columns, field, 0, 7, 0, 2, &whole, &err), -1);
	field[0] = (char *)"2";
	assert_int_equal(columns_whole(&columns, field, 0, 7, 0, 2, &whole, &err), 0);
	assert_int_equal(whole, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_in_any_order),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
