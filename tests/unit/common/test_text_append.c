/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/text_append.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/text_append.h"

static void appends_all_or_nothing(void **state)
{
	char buf[] = "\0.........";

	(void)state;
	assert_true(text_append(buf, 8, "%d", 12));
	assert_true(text_append(buf, 8, "%s%c", "ab", 'c'));
	assert_string_equal(buf, "12abc");
	assert_false(text_append(buf, 8, "def"));
	assert_string_equal(buf, "12abc");
	assert_true(text_append(buf, 8, "de"));
	assert_string_equal(buf, "12abcde");
	assert_true(text_append(buf, 8, "%s", ""));
	assert_false(text_append(buf, 8, "f"));
	assert_string_equal(buf, "12abcde");
	/* Behind its end nothing was written. */
	assert_string_equal(buf + 8, "..");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
