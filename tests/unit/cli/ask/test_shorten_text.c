/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/cli/bills/shorten_text.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "cli/ask/shorten_text.h"

static void put(FILE *out, const char *text)
{
	fputs(text, out);
}

static void assert_short(const char *name, int columns, const char *wanted, int used)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(shorten_text(out, name, columns, "~", put), used);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

static void short_names_stay(void **state)
{
	(void)state;
	assert_short("", 5, "", 0);
	assert_short("lammps", 6, "lammps", 6);
	assert_short("l\xc3\xa4mmps", 6, "l\xc3\xa4mmps", 6); /* one column, two bytes */
}

/* Both ends are seen. */
static void long_ones_lose_their_middle(void **state)
{
	(void)state;
	assert_short("abcdefghijkl", 10, "abcdef~jkl", 10);
	assert_short("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc", 5,
		"\xc3\xa4\xc3\xb6\xc3\xbc~\xc3\xbc", 5);
}

/* A character of two columns does not go half into a column. */
static void wide_characters(void **state)
{
	(void)state;
	assert_short("\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97", 4);
	assert_short("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", 7,
		"\xe6\xbc\xa2\xe5\xad\x97~\xe5\xad\x97", 7);
	assert_short("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", 6,
		"\xe6\xbc\xa2~\xe5\xad\x97", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_names_stay),
		cmocka_unit_test(long_ones_lose_their_middle),
		cmocka_unit_test(wide_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
