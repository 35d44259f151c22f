/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/constraint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/submit/constraint.h"

static void one_feature(void **state)
{
	(void)state;
	assert_true(constraint_allows("big", "big"));
	assert_true(constraint_allows("big", "ib,big,ssd"));
	assert_false(constraint_allows("big", "bigger,ib"));
	assert_false(constraint_allows("bigger", "big"));
	assert_false(constraint_allows("big", ""));
	assert_false(constraint_allows("big", NULL));
}

static void operators_bind_from_left_to_right(void **state)
{
	(void)state;
	assert_true(constraint_allows("a&b", "b,a"));
	assert_false(constraint_allows("a&b", "a"));
	assert_true(constraint_allows("a,b", "b,a"));
	assert_false(constraint_allows("a,b", "b"));
	assert_true(constraint_allows("a|b", "b"));
	assert_false(constraint_allows("a|b", "c"));
	/* (a|b)&c */
	assert_false(constraint_allows("a|b&c", "a"));
	assert_true(constraint_allows("a|b&c", "a,c"));
	assert_true(constraint_allows("a&b|c", "c"));
}

static void brackets_bind_first(void **state)
{
	(void)state;
	assert_true(constraint_allows("a|(b&c)", "a"));
	assert_true(constraint_allows("a|(b&c)", "b,c"));
	assert_false(constraint_allows("a|(b&c)", "b"));
	assert_false(constraint_allows("(a|b)&c", "a"));
	assert_true(constraint_allows("(a|b)&(c|d)", "b,d"));
	assert_false(constraint_allows("(a|b)&(c|d)", "a,b"));
}

static void nodes_may_differ(void **state)
{
	(void)state;
	assert_true(constraint_allows("[a|b]", "b"));
	assert_true(constraint_allows("[a*2&b*4]", "a"));
	assert_true(constraint_allows("a*2&b*4", "b"));
	assert_true(constraint_allows("fast&[a|b]", "a"));
	assert_false(constraint_allows("[a*2&b*4]", "c"));
	assert_false(constraint_allows("[a|b]", NULL));
}

static void nonsense_ends(void **state)
{
	static const char *const nonsense[] = {"", "&", "|a", "a&", "(", ")", "((a)", "(a))",
		"a)(b", "()", "(((", "*", "[", "]a", ",,"};

	(void)state;
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		assert_false(constraint_allows(nonsense[i], "c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_feature),
		cmocka_unit_test(operators_bind_from_left_to_right),
		cmocka_unit_test(brackets_bind_first),
		cmocka_unit_test(nodes_may_differ),
		cmocka_unit_test(nonsense_ends),
	};

	return cmocka_run_group_tests_name("constraint", tests, NULL, NULL);
}
