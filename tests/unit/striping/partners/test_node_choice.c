/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "striping/partners/node_choice.h"

#define NODES 10

/* The candidates in an order that says nothing, then by node_choice_order(). */
static void order(struct candidate *c, int count, int wanted)
{
	for (int i = 0; i < count; i++) {
		int k = (i * 7 + 3) % count;
		struct candidate t = c[i];

		c[i] = c[k];
		c[k] = t;
	}
	assert_int_equal(node_choice_order(c, count, wanted), 0);
}

static void groups(struct candidate *c, const char *text, double loss)
{
	for (int i = 0; text[i]; i++)
		c[i] = (struct candidate){
			.node = i, .shared = true, .group = (uint64_t)text[i], .loss = loss};
}

static void is_order(const struct candidate *c, const char *expected)
{
	char text[NODES + 1] = "";

	for (int i = 0; expected[i]; i++)
		text[i] = (char)c[i].group;
	assert_string_equal(text, expected);
}

static void the_group_that_fits_best(void **state)
{
	static const struct {
		int wanted;
		const char *order;
	} cases[] = {
		{1, "dbbcccaaaa"},
		{2, "bbcccaaaad"},
		{3, "cccaaaabbd"},
		{4, "aaaacccbbd"},
		{9, "aaaacccbbd"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct candidate c[NODES];

		groups(c, "cabacabdac", 0.1);
		order(c, NODES, cases[i].wanted);
		is_order(c, cases[i].order);
		for (int k = 1; k < NODES; k++)
			assert_true(c[k].group != c[k - 1].group || c[k].node > c[k - 1].node);
	}
}

static void loss_comes_first(void **state)
{
	struct candidate c[4];

	(void)state;
	groups(c, "aabb", 0.3);
	c[2].loss = c[3].loss = 0.1;
	order(c, 4, 2);
	is_order(c, "bbaa");
	groups(c, "aabc", 0.3);
	c[3].loss = 0.1;
	order(c, 4, 2);
	is_order(c, "caab");
	/* Less than a percent is no reason to break a bigger group up. */
	groups(c, "aaab", 0.100);
	c[0].loss = c[1].loss = c[2].loss = 0.0990;
	order(c, 4, 1);
	is_order(c, "baaa");
}

/* Any order of the same candidates gives the same result. */
static void the_order_is_one(void **state)
{
	struct candidate first[NODES];

	(void)state;
	for (int n = 0; n < 200; n++) {
		struct candidate c[NODES];

		groups(c, "abcabcabdd", 0.2);
		for (int i = 0; i < NODES; i++)
			c[i].loss = (double)c[i].group / 1000;
		for (int i = NODES - 1; i > 0; i--) {
			int k = rand() % (i + 1);
			struct candidate t = c[i];

			c[i] = c[k];
			c[k] = t;
		}
		assert_int_equal(node_choice_order(c, NODES, 3), 0);
		for (int i = 0; i < NODES; i++) {
			if (!n)
				first[i] = c[i];
			assert_int_equal(c[i].node, first[i].node);
		}
	}
	assert_int_equal(node_choice_order(first, 0, 3), 0);
}

static void sizes_that_match(void **state)
{
	struct poppa_settings s;
	struct errmsg err = {""};

	(void)state;
	settings_defaults(&s);
	assert_true(node_choice_matches(&s, 1, 1000));
	assert_int_equal(settings_parse("stripe_match=exact", &s, &err), 0);
	assert_true(node_choice_matches(&s, 3, 3));
	assert_false(node_choice_matches(&s, 3, 4));
	assert_int_equal(settings_parse("stripe_match=within:25%", &s, &err), 0);
	assert_true(node_choice_matches(&s, 3, 4));
	assert_true(node_choice_matches(&s, 4, 3));
	assert_false(node_choice_matches(&s, 2, 3));
	assert_true(node_choice_matches(&s, 100, 75));
	assert_false(node_choice_matches(&s, 74, 100));
	assert_int_equal(settings_parse("stripe_match=within:0", &s, &err), 0);
	assert_true(node_choice_matches(&s, 7, 7));
	assert_false(node_choice_matches(&s, 7, 8));
}

static void groups_that_serve(void **state)
{
	struct poppa_settings s;
	struct errmsg err = {""};

	(void)state;
	settings_defaults(&s);
	assert_int_equal(settings_parse("stripe_match=exact", &s, &err), 0);
	assert_true(node_choice_serves(&s, 3, false, 0, 3, 3));
	assert_true(node_choice_serves(&s, 4, false, 0, 3, 3));
	assert_false(node_choice_serves(&s, 2, false, 9, 3, 3));
	assert_false(node_choice_serves(&s, 0, true, 9, 3, 3));
	/* Who is asked for by its id may have any size. */
	assert_true(node_choice_serves(&s, 2, true, 1, 3, 3));
	assert_false(node_choice_serves(&s, 2, true, 0, 3, 3));
	assert_int_equal(settings_parse("stripe_match=within:25%", &s, &err), 0);
	assert_true(node_choice_serves(&s, 3, false, 1, 4, 4));
	assert_false(node_choice_serves(&s, 3, false, 0, 4, 4));
	/* Fewer than wanted may be enough. */
	assert_true(node_choice_serves(&s, 3, false, 0, 2, 4));
}

static void by_time(void **state)
{
	struct candidate c[3] = {{.node = 0, .when = 50}, {.node = 1, .when = 9, .shared = true},
		{.node = 2, .when = 9}};

	(void)state;
	qsort(c, 3, sizeof(*c), node_choice_by_time);
	assert_int_equal(c[0].node, 1);
	assert_int_equal(c[1].node, 2);
	assert_int_equal(c[2].node, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_group_that_fits_best),
		cmocka_unit_test(loss_comes_first),
		cmocka_unit_test(the_order_is_one),
		cmocka_unit_test(sizes_that_match),
		cmocka_unit_test(groups_that_serve),
		cmocka_unit_test(by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
