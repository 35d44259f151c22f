/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/stripe_default.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "common/stripe_default.h"

static void elements_in_their_order(void **state)
{
	static const struct {
		bool qos;
		const char *name;
	} wanted[] = {
		{false, "debug"}, {true, "shared"}, {false, "qos2"}, {true, "qos"}, {false, "x"}};
	const char *at = "debug:qos:shared:qos2:qos:qos:x";
	char name[16];

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct stripe_default element;

		assert_non_null(at);
		at = stripe_default_next(at, &element);
		snprintf(name, sizeof(name), "%.*s", (int)element.len, element.name);
		assert_string_equal(name, wanted[i].name);
		assert_int_equal(element.qos, wanted[i].qos);
	}
	assert_null(at);
}

static void missing_names_have_no_length(void **state)
{
	static const char *const last[] = {"", "qos", "qos:", "a:", "a:qos", "a:qos:"};
	struct stripe_default element;

	(void)state;
	for (int i = 0; i < 6; i++) {
		for (const char *at = last[i]; at;)
			at = stripe_default_next(at, &element);
		assert_int_equal(element.len, 0);
	}
}

static void who_is_in_it(void **state)
{
	static const char list[] = "debug:qos:shared:long";

	(void)state;
	assert_true(stripe_default_has(list, false, "debug"));
	assert_true(stripe_default_has(list, false, "long"));
	assert_true(stripe_default_has(list, true, "shared"));
	assert_true(stripe_default_has(list, true, "Shared"));
	assert_false(stripe_default_has(list, false, "Debug"));
	assert_false(stripe_default_has(list, false, "shared"));
	assert_false(stripe_default_has(list, false, "qos"));
	assert_false(stripe_default_has(list, true, "debug"));
	assert_false(stripe_default_has(list, false, "deb"));
	assert_false(stripe_default_has(list, false, "debugger"));
	assert_false(stripe_default_has(list, false, ""));
	assert_false(stripe_default_has("", false, ""));
	assert_false(stripe_default_has("", false, "debug"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_in_their_order),
		cmocka_unit_test(missing_names_have_no_length),
		cmocka_unit_test(who_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
