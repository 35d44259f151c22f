/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/errmsg.c: a message may be made of the one before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/errmsg.h"

static void messages(void **state)
{
	struct errmsg err = {"poppa_perod is unknown"};

	(void)state;
	assert_int_equal(errmsg_set(&err, "PrEpParameters: %s", err.text), -1);
	assert_string_equal(err.text, "PrEpParameters: poppa_perod is unknown");
	assert_int_equal(errmsg_set(NULL, "nobody asked"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
