/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/constraint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

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

static void nodes_alike_are_looked_up(void **state)
{
	struct constraint_answers known = {{0}, {0}};
	char features[1000][16];
	int allowed = 0;

	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 1000; i++) {
			snprintf(features[i], sizeof(features[i]), "%s,n%d", i % 3 ? "a" : "b", i);
			assert_int_equal(
				constraint_allows_again("a", features[i], &known), i % 3 != 0);
		}
	/* What was answered once is not read again, whatever the constraint has become. */
	memset(&known, 0, sizeof(known));
	for (int i = 0; i < 1000; i++)
		allowed += constraint_allows_again(i ? "b" : "a", "a,ib", &known);
	assert_int_equal(allowed, 1000);
	assert_false(constraint_allows_again("a", NULL, &known));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_feature),
		cmocka_unit_test(operators_bind_from_left_to_right),
		cmocka_unit_test(brackets_bind_first),
		cmocka_unit_test(nodes_may_differ),
		cmocka_unit_test(nonsense_ends),
		cmocka_unit_test(nodes_alike_are_looked_up),
	};

	return cmocka_run_group_tests_name("constraint", tests, NULL, NULL);
}
