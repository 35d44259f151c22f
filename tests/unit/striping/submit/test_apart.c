/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the text that says whom a job has left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "striping/submit/apart.h"

static void remembers_the_last_ones(void **state)
{
	struct apart a = {0};
	const uint32_t first[] = {7, 9};

	(void)state;
	assert_false(apart_from(&a, 7));
	apart_add(&a, 3, first, 2);
	assert_int_equal(a.times, 1);
	assert_int_equal(a.restart, 3);
	assert_true(apart_from(&a, 7) && apart_from(&a, 9));
	assert_false(apart_from(&a, 0) || apart_from(&a, 8));
	apart_add(&a, 4, first, 2);
	assert_int_equal(a.times, 2);
	assert_int_equal(a.count, 2);
	for (uint32_t id = 100; id < 100 + APART_JOBS - 1; id++)
		apart_add(&a, 5, &id, 1);
	assert_int_equal(a.count, APART_JOBS);
	assert_false(apart_from(&a, 7));
	assert_true(apart_from(&a, 9) && apart_from(&a, 100 + APART_JOBS - 2));
}

static void text_and_back(void **state)
{
	struct apart a = {0}, back;
	char text[APART_TEXT_MAX], again[APART_TEXT_MAX];

	(void)state;
	for (uint32_t i = 0; i <= APART_JOBS; i++) {
		uint32_t id = UINT32_MAX - i;

		assert_int_equal(apart_parse(apart_format(&a, text), &back), 0);
		assert_string_equal(apart_format(&back, again), text);
		assert_int_equal(back.count, a.count);
		apart_add(&a, UINT32_MAX, &id, 1);
	}
	assert_int_equal(apart_parse("times=2 restart=1 from=4711,4712", &back), 0);
	assert_int_equal(back.times, 2);
	assert_int_equal(back.restart, 1);
	assert_true(back.count == 2 && back.job[1] == 4712);
}

static void refuses_what_it_has_not_written(void **state)
{
	static const char *const bad[] = {"", "x", "times=1 restart=0", "times=1 restart=0 from=x",
		"times=1 restart=0 from=1,", "times=1 restart=0 from=1,,2",
		"times=+1 restart=0 from=1", "times=1  restart=0 from=1",
		"times=1 restart=0 from=1 x", "times=1 restart=0 from= 1",
		"times=1 restart=0 from=4294967296", "times=1 restart=0 from=-1",
		"times=1 restart=0 from=1,2,3,4,5,6,7,8,9"};
	struct apart a;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(&a, 1, sizeof(a));
		if (!apart_parse(bad[i], &a))
			fail_msg("\"%s\" was taken", bad[i]);
		assert_int_equal(a.times, 0);
		assert_int_equal(a.count, 0);
	}
	assert_int_equal(apart_parse(NULL, &a), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remembers_the_last_ones),
		cmocka_unit_test(text_and_back),
		cmocka_unit_test(refuses_what_it_has_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
