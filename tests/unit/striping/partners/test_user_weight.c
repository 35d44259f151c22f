/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of how much users' losses count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "striping/history/imported_trial.h"
#include "striping/history/pairs_trials.h"
#include "striping/partners/user_weight.h"

#define DAY 86400LL

static int make(void **state)
{
	*state = pairs_new();
	return *state ? 0 : -1;
}

static int drop(void **state)
{
	pairs_free(*state);
	return 0;
}

static void lose(struct pairs *p, const char *job, double degradation, double seconds)
{
	assert_int_equal(pairs_learn(p, job, "9/other", degradation, seconds, 1), 0);
}

static double weight(struct pairs *p, const char *class_name)
{
	struct user_weights *w = user_weights_new(p);
	double is;

	assert_non_null(w);
	is = user_weights_of(w, class_name);
	user_weights_free(w);
	return is;
}

/* By the share of the time that a user's jobs have shared, against all together. */
static void by_the_share_lost(void **state)
{
	lose(*state, "1/a", 0.12, 36000);
	lose(*state, "2/a", 0.08, 36000);
	assert_float_equal(weight(*state, "1/a"), 1 + 0.2 * 10 / 11, 1e-6);
	assert_float_equal(weight(*state, "2/a"), 1 - 0.2 * 10 / 11, 1e-6);
}

/* All that a user runs has one weight, also what has not run yet: splitting moves nothing. */
static void users_are_whole(void **state)
{
	double whole;

	lose(*state, "2/a", 0.05, 20000);
	lose(*state, "1/a", 0.1, 20000);
	whole = weight(*state, "1/a");
	pairs_free(*state);
	*state = pairs_new();
	lose(*state, "2/a", 0.05, 20000);
	lose(*state, "1/a", 0.1, 10000);
	lose(*state, "1:b+4n", 0.1, 5000);
	lose(*state, "1@c+4n+2x8x1", 0.1, 5000);
	/* Another user's rows are between those: "10/a" is neither. */
	lose(*state, "10/a", 0, 1);
	assert_float_equal(weight(*state, "1/a"), whole, 1e-3);
	assert_true(weight(*state, "1@new") == weight(*state, "1/a"));
	assert_true(weight(*state, "1@c+4n") == weight(*state, "1/a"));
	assert_true(weight(*state, "#1") == weight(*state, "1/a"));
}

/* Nobody counts more than twice, or less than half, whatever was lost, or gained. */
static void bounded(void **state)
{
	lose(*state, "1/a", 1, 36000);
	for (int user = 0; user < 9; user++)
		lose(*state,
			(const char *const[]){"2/a", "2/b", "2/c", "3/a", "3/b", "3/c", "4/a",
				"4/b", "4/c"}[user],
			0.01, 36000);
	lose(*state, "5/a", -1, 3600);
	assert_true(weight(*state, "1/a") == USER_WEIGHT_MOST);
	assert_true(weight(*state, "2/a") == 1 / USER_WEIGHT_MOST);
	assert_true(weight(*state, "5/a") == 1 / USER_WEIGHT_MOST);
}

/* A user's first minutes move little. */
static void little_is_known(void **state)
{
	lose(*state, "2/a", 0.1, 36000);
	lose(*state, "1/a", 0.5, 60);
	assert_in_range((int)(1000 * weight(*state, "1/a")), 1001, 1100);
	lose(*state, "1/b", 0.5, 1200);
	assert_true(weight(*state, "1/a") > 1.5);
}

static void nobody_and_everybody(void **state)
{
	assert_true(weight(*state, "1/a") == 1);
	lose(*state, "weather", 0.5, 36000);
	assert_true(weight(*state, "weather") == 1);
	lose(*state, "1/a", 0, 3600);
	/* All have lost nothing. */
	assert_true(weight(*state, "1/a") == 1);
	lose(*state, "1/a", 0.3, 3600);
	lose(*state, "2/a", 0.1, 3600);
	assert_true(weight(*state, "weather") == 1);
	assert_true(weight(*state, "3/a") == 1);
	assert_true(weight(*state, "#3") == 1);
	assert_true(weight(*state, "#") == 1);
	assert_true(weight(*state, "") == 1);
	assert_true(weight(*state, "99999999999/a") == 1);
	assert_true(user_weights_of(NULL, "1/a") == 1);
	user_weights_free(NULL);
}

/* What was lost long ago weighs little beside what others lose now, as the history has it. */
static void ages(void **state)
{
	lose(*state, "1/a", 0.4, 36000);
	lose(*state, "1/b", 0.1, 3600);
	assert_int_equal(pairs_learn(*state, "2/a", "9/other", 0.1, 36000, 300 * DAY), 0);
	assert_true(fabs(weight(*state, "1/a") - 1) < 0.1);
}

/* What a trial measured no user has lost. */
static void trials_are_no_jobs(void **state)
{
	struct imported_trials *t = imported_trials_new();
	struct imported_loss l = {.trial = "0123456789abcdef",
		.job = "1/b",
		.partner = "9/other",
		.degradation = 0.9,
		.low = 0.9,
		.high = 0.9};
	double before;

	lose(*state, "1/a", 0.2, 7200);
	lose(*state, "2/a", 0.1, 7200);
	before = weight(*state, "1/a");
	assert_int_equal(imported_trials_add(t, &l, NULL), 0);
	assert_int_equal(pairs_add_trials(*state, t), 0);
	assert_float_equal(weight(*state, "1/a"), before, 1e-9);
	imported_trials_free(t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_the_share_lost),
		TEST(users_are_whole),
		TEST(bounded),
		TEST(little_is_known),
		TEST(nobody_and_everybody),
		TEST(ages),
		TEST(trials_are_no_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
