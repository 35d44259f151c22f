/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of which lanes a job tries. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "striping/partners/exploratory_start.h"

#define RUN_S 600
#define CLASSES 4
#define SEEDS 40

static const char *const other[CLASSES] = {"7/p0", "7/p1", "7/p2", "7/p3"};

/* What is known: others that are well with each other; and "mine", which has only met three that
 * are terrible, so it is expected to be bad for everybody. */
static struct pairs *history(void)
{
	static const double terrible[3] = {0.77, 0.55, 0.69};
	struct pairs *p = pairs_new();

	for (int run = 0; run < 10; run++)
		for (int i = 0; i < CLASSES; i++)
			for (int k = 0; k < CLASSES; k++)
				assert_int_equal(
					pairs_learn(p, other[i], other[k],
						i == k ? 0.05
						       : 0.05 + 0.05 * sin(6 + i * 3 + k * 7),
						3600, 1000),
					0);
	assert_int_equal(pairs_learn(p, "7/mine", "7/mine", 0.02, 3600, 1000), 0);
	for (int i = 0; i < 3; i++) {
		char name[24];

		snprintf(name, sizeof(name), "7/bad%d", i);
		assert_int_equal(pairs_learn(p, "7/mine", name, terrible[i], RUN_S, 1000), 0);
		assert_int_equal(pairs_learn(p, name, "7/mine", terrible[i], RUN_S, 1000), 0);
	}
	return p;
}

static struct pairs *pairs;
static struct expectation *expected;
static struct outlook *outlook;
static struct poppa_settings settings;
static struct lane_partner partner[CLASSES];
static struct lane_offer offer[CLASSES + 1];
static struct lane_wish wish;

static void look(void)
{
	outlook_free(outlook);
	expectation_free(expected);
	expected = expectation_fit(pairs, NULL);
	outlook = outlook_of_history(pairs, expected, NULL);
	assert_non_null(outlook);
}

static int begin(void **state)
{
	(void)state;
	settings_defaults(&settings);
	pairs = history();
	look();
	return 0;
}

static int end(void **state)
{
	(void)state;
	outlook_free(outlook);
	expectation_free(expected);
	pairs_free(pairs);
	outlook = NULL;
	expected = NULL;
	return 0;
}

/* A lane beside a job of each class but "mine", of two nodes each and for ten minutes. */
static void offers(void)
{
	const int mine = outlook_class(outlook, "7/mine");

	for (int i = 0; i < CLASSES; i++) {
		int class_number = outlook_class(outlook, other[i]);

		partner[i] = (struct lane_partner){class_number, 2,
			outlook_alone(outlook, class_number) /
				outlook_typical(outlook, class_number)};
		offer[i] = (struct lane_offer){.partner = &partner[i],
			.partners = 1,
			.lanes = 2,
			.mine = mine,
			.nodes = 2,
			.id = i,
			.overlap_s = RUN_S};
	}
	offer[CLASSES] = (struct lane_offer){.lanes = 2, .mine = mine, .nodes = 2, .id = CLASSES};
	wish = lane_wish(&settings, 2, true);
}

/* Whether "mine" starts to explore by what this seed draws, with so much saved, where there is no
 * empty node; if not, *waits says whether it waits. */
static bool tries(uint64_t seed, double saved, bool *waits, struct exploratory_start *start)
{
	const struct exploration account = {.saved = saved};
	struct outlook *drawn = outlook_drawn(outlook, seed);
	bool explores;

	assert_non_null(drawn);
	wish.drawn = drawn;
	*waits = lane_yield_order(outlook, &wish, offer, CLASSES) > 0;
	explores = exploratory_start_order(
		outlook, &wish, &account, *waits, false, offer, CLASSES, start);
	outlook_free(drawn);
	return explores;
}

/* The first seed from which an exploratory start follows; of 0 none does. */
static uint64_t lucky(struct exploratory_start *start)
{
	bool waits;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		offers();
		if (tries(seed, 1e9, &waits, start))
			return seed;
	}
	return 0;
}

/* Without exploratory starts the class never shares again, so nothing is learned of it; with them
 * it does after some time, and what it then shows is known. */
static void wrongly_expected(void **state)
{
	const char *met;
	struct exploratory_start start;
	bool waits;
	int first;

	(void)state;
	/* By what is expected it waits, today and ever after: nothing that happens would change it.
	 */
	offers();
	assert_false(tries(1, 0, &waits, &start));
	assert_true(waits);
	assert_int_not_equal(lucky(&start), 0);
	first = offer[0].id;
	met = other[first];
	assert_true(offer[0].explores && !offer[0].yield.slow);
	/* Both jobs are well there. */
	for (int run = 0; run < 3; run++) {
		assert_int_equal(pairs_learn(pairs, "7/mine", met, 0.01, RUN_S, 1000), 0);
		assert_int_equal(pairs_learn(pairs, met, "7/mine", 0.01, RUN_S, 1000), 0);
	}
	look();
	offers();
	assert_false(tries(1, 0, &waits, &start));
	assert_false(waits);
	for (int i = 0; i < CLASSES; i++)
		if (offer[i].id == first)
			assert_true(offer[i].yield.own + offer[i].yield.left > 2);
	assert_false(offer[0].yield.slow);
}

/* All lanes that an exploratory start can slow down: two of the job, two of the partner; and the
 * time that is saved must be enough. */
static void what_it_costs(void **state)
{
	struct exploratory_start start;
	bool waits;
	uint64_t seed = lucky(&start);

	(void)state;
	assert_int_not_equal(seed, 0);
	assert_true(start.lanes == 4 && start.seconds == RUN_S);
	offers();
	assert_true(tries(seed, 4 * RUN_S, &waits, &start));
	offers();
	assert_false(tries(seed, 4 * RUN_S - 1, &waits, &start));
	assert_true(start.lanes == 0);
	for (int i = 0; i < CLASSES; i++)
		assert_false(offer[i].tries || offer[i].explores);
	/* A partner of a hundred nodes waits for the two. */
	for (uint64_t next = 1; next <= SEEDS && start.lanes != 102; next++) {
		offers();
		for (int i = 0; i < CLASSES; i++)
			partner[i].nodes = 100;
		assert_false(tries(next, 102 * RUN_S - 1, &waits, &start));
		offers();
		for (int i = 0; i < CLASSES; i++)
			partner[i].nodes = 100;
		tries(next, 1e9, &waits, &start);
	}
	assert_true(start.lanes == 102);
	/* A short overlap is paid where a long one is not. */
	offers();
	for (int i = 0; i < CLASSES; i++)
		offer[i].overlap_s = 60;
	assert_true(tries(seed, 240, &waits, &start));
	assert_true(start.seconds == 60);
}

/* Partners that want none, and those whose end nobody knows. */
static void not_beside_them(void **state)
{
	struct exploratory_start start;
	bool waits;
	uint64_t seed = lucky(&start);

	(void)state;
	assert_int_not_equal(seed, 0);
	offers();
	for (int i = 0; i < CLASSES; i++)
		offer[i].overlap_s = 0;
	assert_false(tries(seed, 1e9, &waits, &start));
	offers();
	for (int i = 0; i < CLASSES; i++)
		offer[i].overlap_s = INFINITY;
	assert_false(tries(seed, 1e9, &waits, &start));
	/* None of them is drawn there. */
	for (int i = 0; i < CLASSES; i++)
		assert_false(offer[i].tries);
}

/* By the mean nobody may be slower by more than twice what the site allows; and by the draw the
 * bounds hold. */
static void no_victims(void **state)
{
	struct exploratory_start start;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		bool waits;

		offers();
		if (!tries(seed, 1e9, &waits, &start))
			continue;
		for (int i = 0; i < CLASSES && offer[i].explores; i++)
			assert_true(offer[i].yield.least >= 0.75 && offer[i].yield.own >= 0.75);
	}
	settings.stripe_victim_max = 0.001;
	assert_int_equal(lucky(&start), 0);
	settings_defaults(&settings);
}

/* What the means choose as well explores nothing, and one that takes an empty node makes none. */
static void not_otherwise(void **state)
{
	struct exploration account = {.saved = 1e9};
	struct exploratory_start start;
	struct outlook *drawn;

	(void)state;
	settings.stripe_gain_min = -0.5;
	settings.stripe_victim_max = 1;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		bool waits;
		int first;

		offers();
		drawn = outlook_drawn(outlook, seed);
		wish.drawn = drawn;
		waits = lane_yield_order(outlook, &wish, offer, CLASSES) > 0;
		first = offer[0].id;
		if (exploratory_start_order(
			    outlook, &wish, &account, waits, false, offer, CLASSES, &start))
			assert_true(waits || offer[0].id != first);
		else
			assert_int_equal(offer[0].id, first);
		outlook_free(drawn);
	}
	settings_defaults(&settings);
	/* Nobody else waits, so an empty node costs nothing and is the best there is. */
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		offers();
		wish.others_wait = false;
		drawn = outlook_drawn(outlook, seed);
		wish.drawn = drawn;
		lane_yield_order(outlook, &wish, offer, CLASSES + 1);
		assert_int_equal(offer[0].id, CLASSES);
		if (!exploratory_start_order(
			    outlook, &wish, &account, false, true, offer, CLASSES + 1, &start))
			assert_int_equal(offer[0].id, CLASSES);
		outlook_free(drawn);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(wrongly_expected, begin, end),
		cmocka_unit_test_setup_teardown(what_it_costs, begin, end),
		cmocka_unit_test_setup_teardown(not_beside_them, begin, end),
		cmocka_unit_test_setup_teardown(no_victims, begin, end),
		cmocka_unit_test_setup_teardown(not_otherwise, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
