/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/tags.c: each writer of a comment changes its own part only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/tags.h"

static void tags(void **state)
{
	char *a, *b, *c;

	(void)state;
	a = tags_set(NULL, "colocate", "stripe");
	assert_string_equal(a, "colocate: stripe");
	b = tags_set("site note; ", "poppa", "d=0.1");
	assert_non_null(strstr(b, "site note"));
	free(b);
	b = tags_set(a, "poppa", "d=0.4 raw=7");
	assert_string_equal(b, "colocate: stripe; poppa: d=0.4 raw=7");
	c = tags_set(b, "colocate", "spread");
	assert_string_equal(c, "colocate: spread; poppa: d=0.4 raw=7");
	free(a);
	a = tags_get(c, "poppa");
	assert_string_equal(a, "d=0.4 raw=7");
	assert_null(tags_get(c, "pop"));
	free(a);
	a = tags_set(c, "poppa", NULL);
	assert_string_equal(a, "colocate: spread");
	free(b);
	b = tags_set(c, "colocate", NULL);
	assert_string_equal(b, "poppa: d=0.4 raw=7");
	free(a);
	free(b);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
