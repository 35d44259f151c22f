/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "striping/partners/node_choice.h"
#include "unit/striping/partners/three_classes.h"

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

static void a_node_that_loses(void **state)
{
	struct candidate c = {.shared = true, .own = 0.5, .rest = 0.4};

	(void)state;
	assert_true(node_choice_loses(&c));
	c.rest = 0.5;
	assert_false(node_choice_loses(&c));
	c = (struct candidate){.shared = false};
	assert_false(node_choice_loses(&c));
}

/* node_choice_patience() of a job that became eligible then, at 1500. */
static time_t patient(
	const struct poppa_settings *s, time_t eligible, int64_t limit_s, double usual_s)
{
	const struct node_stay stay = {eligible, limit_s, usual_s};

	return node_choice_patience(s, &stay, 1500, NODE_LOSES);
}

static void patience(void **state)
{
	struct poppa_settings s;
	struct errmsg err = {""};

	(void)state;
	settings_defaults(&s);
	assert_int_equal(patient(&s, 1000, 0, 0), 4600);
	/* One that is not eligible yet waits from now on, at the earliest. */
	assert_int_equal(patient(&s, 0, 86400, 0), 5100);
	assert_int_equal(patient(&s, 1000, 7200, 0), 2800);
	/* A short job does not wait for long. */
	assert_int_equal(patient(&s, 1000, 60, 0), 1015);
	/* Nor does one of a name whose jobs are short, whatever its limit. */
	assert_int_equal(patient(&s, 1000, 86400, 60), 1180);
	assert_int_equal(patient(&s, 1000, 0, 60), 1180);
	assert_int_equal(patient(&s, 1000, 60, 86400), 1015);
	assert_int_equal(patient(&s, 1000, 0, 1e300), 4600);
	/* It waits twenty times as long as it would lose. */
	assert_int_equal(
		node_choice_patience(&s, &(struct node_stay){1000, 0, 60}, 1500, 0.05), 1060);
	assert_int_equal(
		node_choice_patience(&s, &(struct node_stay){1000, 60, 0}, 1500, 0.025), 1008);
	assert_int_equal(
		node_choice_patience(&s, &(struct node_stay){1000, 0, 0}, 1500, 0.05), 1000);
	assert_int_equal(settings_parse("stripe_wait=1500ms", &s, &err), 0);
	assert_int_equal(patient(&s, 1000, 60, 0), 1002);
	assert_int_equal(settings_parse("stripe_wait=0", &s, &err), 0);
	assert_int_equal(patient(&s, 1000, 60, 60), 0);
}

/* node_choice_together() of nodes with these losses; the numbers of those in front, in order. */
static void is_together(const double (*of)[2], int count, const char *expected)
{
	struct candidate c[NODES];
	char text[NODES + 1] = "";
	int kept, seen = 0;

	for (int i = 0; i < count; i++)
		c[i] = (struct candidate){
			.node = i, .shared = of[i][1] > 0, .own = of[i][0], .rest = of[i][1]};
	kept = node_choice_together(c, count);
	for (int i = 0; i < kept; i++)
		text[i] = (char)('0' + c[i].node);
	assert_string_equal(text, expected);
	/* The others are behind them. */
	for (int i = 0; i < count; i++)
		seen |= 1 << c[i].node;
	assert_int_equal(seen, (1 << count) - 1);
}

/* All nodes wait for the worst one, so a node is worth no more than that leaves of it. */
static void as_fast_as_the_worst_node(void **state)
{
	static const double unknown[][2] = {{0, 1}, {0, 1}, {0, 0}, {0, 1}};
	static const double fine[][2] = {{0.1, 0.9}, {0.4, 0.8}, {0, 0}, {0.2, 1}};
	/* Beside the second one's 0.6 the first one's partner loses more than the job makes. */
	static const double apart[][2] = {{0.1, 0.3}, {0.6, 0.7}, {0.6, 0.9}, {0, 0}};
	static const double equal[][2] = {{0.1, 0.3}, {0.6, 0.7}, {0, 0}};
	static const double loses[][2] = {{0.1, 0.9}, {0.8, 0.3}, {0.7, 0.1}, {0.2, 0.8}};

	(void)state;
	is_together(unknown, 4, "0123");
	is_together(fine, 4, "0123");
	is_together(apart, 4, "123");
	is_together(equal, 3, "02");
	is_together(loses, 4, "03");
	is_together(loses, 0, "");
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

static void latest_come_first(void **state)
{
	struct candidate c[] = {{.node = 0, .shared = true}, {.node = 1}, {.node = 2, .when = 5},
		{.node = 3, .when = 9}, {.node = 4, .when = 9}};
	const int expected[] = {3, 4, 2, 0, 1};

	(void)state;
	assert_int_equal(node_choice_latest(c, 5), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(c[i].node, expected[i]);
	assert_int_equal(node_choice_latest(c, 0), 0);
	assert_int_equal(node_choice_latest(c, 1), 0);
	assert_int_equal(c[0].node, 3);
}

static int by_number(const void *x, const void *y)
{
	return ((const struct candidate *)x)->node - ((const struct candidate *)y)->node;
}

struct two_groups {
	const struct outlook *outlook;
	int mem, net;
};

/* The first group is of a job of class mem, the other one of a net; nobody is beside them yet. */
static int of_two(
	const struct candidate *c, void *arg, struct lane_partner partner[LANE_PARTNERS_MAX])
{
	const struct two_groups *t = arg;
	int number = c->partners == 1 ? t->mem : t->net;

	partner[0] = (struct lane_partner){number, c->partners == 1 ? 4 : 3,
		outlook_alone(t->outlook, number) / outlook_typical(t->outlook, number)};
	return 1;
}

/* A job of a class that loses most beside its like goes beside the others first, though that pair
 * is not the one of the least loss; and it does not mix paces where enough nodes have one. */
static void by_yield(void **state)
{
	static const struct outlook_demand demand[] = {{"7/mem", 100}, {"7/net", 100}};
	struct expectation *e = three();
	struct outlook *o = outlook_new(e, demand, 2);
	struct two_groups two = {o, outlook_class(o, "7/mem"), outlook_class(o, "7/net")};
	struct poppa_settings s;
	struct node_yield yield = {
		.settings = &s, .outlook = o, .partners = of_two, .arg = &two, .others_wait = true};
	struct candidate c[7 + 9];
	struct node_choice choice;

	(void)state;
	settings_defaults(&s);
	for (int i = 0; i < 7 + 9; i++)
		c[i] = (struct candidate){.node = i, .lanes = 2, .mine = two.mem};
	for (int i = 0; i < 7; i++)
		c[i] = (struct candidate){.node = i,
			.shared = true,
			.loss = i < 4 ? 0.1 : 0.2,
			.group = i < 4 ? 1 : 2,
			.lanes = 2,
			.mine = two.mem,
			.partners = i < 4 ? 1 : 2};
	assert_int_equal(node_choice_by_yield(c, 7, 0, 3, &yield, &choice), 0);
	for (int i = 0; i < 7; i++)
		assert_int_equal(c[i].node, (i + 4) % 7);
	assert_true(choice.lack == 0);
	assert_int_equal(choice.good, 7);
	/* With those of its own class alone it had better wait. */
	assert_int_equal(node_choice_by_yield(c + 3, 4, 0, 3, &yield, &choice), 0);
	assert_true(choice.lack > 0);
	/* While nobody waits, empty nodes come first of all. */
	yield.others_wait = false;
	assert_int_equal(node_choice_by_yield(c, 7, 9, 3, &yield, &choice), 0);
	assert_int_equal(choice.good, 0);
	assert_true(choice.lack == 0);
	for (int i = 0; i < 9; i++)
		assert_int_equal(c[i].node, 7 + i);
	/* Else between partners that it suits, and those that it does not. */
	qsort(c, 7 + 9, sizeof(*c), by_number);
	yield.others_wait = true;
	assert_int_equal(node_choice_by_yield(c, 7, 9, 3, &yield, &choice), 0);
	assert_true(choice.lack == 0);
	for (int i = 0; i < choice.good; i++)
		assert_in_range(c[i].node, 4, 6);
	assert_in_range(choice.good, 0, 3);
	for (int i = choice.good; i < choice.good + 9; i++)
		assert_in_range(c[i].node, 7, 15);
	qsort(c, 7 + 9, sizeof(*c), by_number);
	assert_int_equal(node_choice_by_yield(c + 7, 0, 9, 3, &yield, &choice), 0);
	assert_int_equal(choice.good, 0);
	assert_true(choice.lack == 0);
	/* Who names a partner wants that one. */
	c[3].named = true;
	assert_int_equal(node_choice_by_yield(c, 7, 9, 3, &yield, &choice), 0);
	assert_int_equal(choice.good, 7);
	assert_true(choice.lack == 0);
	c[3].named = false;
	/* Where it is not known who is there, the losses decide. */
	c[6].partners = 0;
	assert_int_equal(node_choice_by_yield(c, 7, 0, 3, &yield, &choice), 0);
	for (int i = 0; i < 7; i++)
		assert_int_equal(c[i].node, i);
	outlook_free(o);
	expectation_free(e);
}

/* Empty nodes of different kinds are compared, also where no node has a partner, and nodes with the
 * same partners are as well. */
static void kinds_of_nodes(void **state)
{
	static const struct outlook_demand demand[] = {{"7/mem", 100}, {"7/net", 100}};
	struct expectation *e = three();
	struct outlook *o = outlook_new(e, demand, 2);
	struct two_groups two = {o, outlook_class(o, "7/mem"), outlook_class(o, "7/net")};
	const double mem = outlook_alone(o, two.mem) / outlook_typical(o, two.mem);
	const double net = outlook_alone(o, two.net) / outlook_typical(o, two.net);
	struct poppa_settings s;
	struct node_yield yield = {
		.settings = &s, .outlook = o, .partners = of_two, .arg = &two, .others_wait = true};
	struct candidate c[8];
	struct node_choice choice;

	(void)state;
	settings_defaults(&s);
	assert_true(mem > net + 0.02);
	for (int i = 0; i < 8; i++)
		c[i] = (struct candidate){.node = i, .lanes = 2, .mine = i % 2 ? two.mem : two.net};
	assert_int_equal(node_choice_by_yield(c, 0, 8, 3, &yield, &choice), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(c[i].node, i < 4 ? 2 * i + 1 : 2 * (i - 4));
	assert_true(choice.lack == 0 && choice.good == 0);
	/* More lanes, alone, are faster still. */
	for (int i = 0; i < 8; i++)
		c[i] = (struct candidate){.node = i, .lanes = i < 5 ? 2 : 4, .mine = two.mem};
	assert_int_equal(node_choice_by_yield(c, 0, 8, 3, &yield, &choice), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(c[i].node, (i + 5) % 8);
	/* A net's nodes are one offer, whatever types they are of: it loses once. */
	for (int i = 0; i < 8; i++)
		c[i] = (struct candidate){.node = i,
			.shared = true,
			.group = 2,
			.lanes = 2,
			.mine = i % 2 ? two.mem : two.net,
			.partners = 2};
	assert_int_equal(node_choice_by_yield(c, 8, 0, 3, &yield, &choice), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(c[i].group, 2);
	assert_int_equal(node_choice_order(c, 8, 8), 0);
	assert_int_equal(node_choice_group(c, 8, 0), 8);
	outlook_free(o);
	expectation_free(e);
}

static double for_a_minute(const struct candidate *c, void *arg)
{
	(void)arg;
	return c->partners == 1 ? 60 : 0;
}

/* A class of which nothing is known tries the first group by what is drawn for some of the looks.
 * The partner of the other one wants no exploration. */
static void exploratory_starts(void **state)
{
	static const struct outlook_demand demand[] = {{"7/mem", 100}, {"7/net", 100}};
	struct expectation *e = three();
	struct outlook *o = outlook_new(e, demand, 2);
	struct two_groups two = {o, outlook_class(o, "7/mem"), outlook_class(o, "7/net")};
	const struct exploration account = {.saved = 60 * (3 + 4)};
	struct node_exploration exploration = {.account = &account, .overlap_s = for_a_minute};
	struct poppa_settings s;
	struct node_yield yield = {.settings = &s,
		.outlook = o,
		.partners = of_two,
		.arg = &two,
		.others_wait = true,
		.exploration = &exploration};
	int made = 0;

	(void)state;
	settings_defaults(&s);
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct outlook *drawn = outlook_drawn(o, seed);
		struct candidate c[7];
		struct node_choice choice;

		exploration.drawn = drawn;
		for (int i = 0; i < 7; i++)
			c[i] = (struct candidate){.node = i,
				.shared = true,
				.group = i < 4 ? 1 : 2,
				.lanes = 2,
				.mine = outlook_class(o, "nobody"),
				.partners = i < 4 ? 1 : 2};
		assert_int_equal(node_choice_by_yield(c, 7, 0, 3, &yield, &choice), 0);
		made += choice.exploratory.lanes > 0;
		for (int i = 0; i < 7; i++)
			assert_int_equal(c[i].explores,
				choice.exploratory.lanes > 0 && c[i].group == 1 && i < 4);
		if (choice.exploratory.lanes > 0) {
			assert_true(choice.lack == 0);
			assert_int_equal(choice.good, 7);
			assert_true(choice.exploratory.lanes == 3 + 4 &&
				    choice.exploratory.seconds == 60);
		}
		outlook_free(drawn);
	}
	assert_in_range(made, 1, 39);
	outlook_free(o);
	expectation_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_group_that_fits_best),
		cmocka_unit_test(loss_comes_first),
		cmocka_unit_test(the_order_is_one),
		cmocka_unit_test(sizes_that_match),
		cmocka_unit_test(groups_that_serve),
		cmocka_unit_test(a_node_that_loses),
		cmocka_unit_test(patience),
		cmocka_unit_test(as_fast_as_the_worst_node),
		cmocka_unit_test(by_time),
		cmocka_unit_test(latest_come_first),
		cmocka_unit_test(by_yield),
		cmocka_unit_test(kinds_of_nodes),
		cmocka_unit_test(exploratory_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
