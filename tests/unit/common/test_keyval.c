/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/keyval.c: lists, files, and where each says what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/keyval.h"

static char seen[256];

static int take(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	(void)arg;
	if (!strcmp(key, "bad"))
		return errmsg_set(err, "line %d: bad", line);
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "[%s=%s@%d]", key,
		value ? value : "-", line);
	return 0;
}

static void lists(void **state)
{
	struct errmsg err = {""};

	(void)state;
	*seen = '\0';
	assert_int_equal(keyval_list(" a=1 ,b,, c=x=y ", take, NULL, &err), 0);
	assert_string_equal(seen, "[a=1@0][b=-@0][c=x=y@0]");
	*seen = '\0';
	assert_int_equal(keyval_list("a=1,bad,c=2", take, NULL, &err), -1);
	assert_string_equal(seen, "[a=1@0]");
	assert_string_equal(err.text, "line 0: bad");
}

static void lines(void **state)
{
	struct errmsg err = {""};

	(void)state;
	*seen = '\0';
	assert_int_equal(
		keyval_text("f", "# a\nA=1 # one\n\n B = \"x # y\" \n", take, NULL, &err), 0);
	assert_string_equal(seen, "[A=1@2][B=x # y@4]");
	assert_int_equal(keyval_text("f", "A=1\nB\n", take, NULL, &err), -1);
	assert_non_null(strstr(err.text, "line 2"));
	assert_int_equal(keyval_file("/nonexistent/x", take, NULL, &err), -1);
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
