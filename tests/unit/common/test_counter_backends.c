/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/counter_backends.c: the table of counter backends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/counter_backends.h"

static void names_go_both_ways(void **state)
{
	enum counter_backend back;

	(void)state;
	for (int b = 0; b < COUNTER_NAMES; b++) {
		assert_int_equal(counter_backend_parse(counter_backend_name(b), &back), 0);
		assert_int_equal(back, b);
	}
	assert_int_equal(counter_backend_parse("HeartBeat", &back), 0);
	assert_int_equal(back, COUNTER_HEARTBEAT);
	assert_int_equal(counter_backend_parse("", &back), -1);
	assert_int_equal(counter_backend_parse("guess", &back), -1);
}

/* Each backend has one place in the order, and those that auto tries come first. */
static void order_is_complete(void **state)
{
	int places[COUNTER_NAMES] = {0}, count = 0;
	bool automatic = true;
	enum counter_backend b;

	(void)state;
	while ((b = counter_backend_ordered(count + 1)) != COUNTER_NONE) {
		assert_true(automatic || !counter_backend_automatic(b));
		automatic = counter_backend_automatic(b);
		places[b]++;
		count++;
	}
	assert_int_equal(count, COUNTER_NAMES - 2);
	for (int i = COUNTER_AUTO + 1; i < COUNTER_NONE; i++) {
		assert_int_equal(places[i], 1);
		assert_true(strlen(counter_backend_counts(i)) > 0);
	}
	assert_false(counter_backend_automatic(COUNTER_AUTO));
	assert_false(counter_backend_automatic(COUNTER_NONE));
	assert_false(counter_backend_automatic(COUNTER_REPLAY));
	assert_int_equal(counter_backend_ordered(1), COUNTER_HEARTBEAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_go_both_ways),
		cmocka_unit_test(order_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
