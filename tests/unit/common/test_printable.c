/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of making texts fit to be printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "common/printable.h"

static const char *plain(const char *text)
{
	static char copy[128];

	snprintf(copy, sizeof(copy), "%s", text);
	return plain_text(copy);
}

static void texts_are_made_plain(void **state)
{
	(void)state;
	assert_string_equal(plain("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"),
		"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
	assert_string_equal(plain("a\x1b[31m\tb\x7f"), "a?[31m?b?");
	assert_string_equal(plain("\xff\xc3"), "??");
	assert_string_equal(plain("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"), "?????????");
	/* C1 controls, and a turn of the direction of writing. */
	assert_string_equal(plain("\302\2331\342\200\2562\342\201\246"), "?1?2?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_made_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
