/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what jobs' long blocks make of a prior, and of priors that come from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "accounting/record/slow_prior.h"

#define MOST_USERS 100

static const double alike[] = {1 / 3.0, 1 / 3.0, 1 / 3.0};
static const double none[] = {0.9, 0.08, 0.02}, narrow[] = {0.001, 0.75, 0.249};
static const double wide[] = {0.0, 0.1, 0.9}, only_wide[] = {0, 0, 1}, only_none[] = {1, 0, 0};

static uint64_t dice;

static double uniform(void)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(dice >> 11) / 9007199254740992.0;
}

/* The vote of a user with so many jobs alike. */
static struct slow_vote user_of(const double *likelihood, int jobs)
{
	struct slow_vote v;

	slow_vote_init(&v);
	for (int i = 0; i < jobs; i++)
		slow_vote_add(&v, likelihood);
	return v;
}

static void checks_what_comes_from_outside(void **state)
{
	static const struct slow_prior bad[] = {{{0.65, 0.33, 0.021}}, {{0.65, 0.346, 0.004}},
		{{1, 0, 0}}, {{-0.1, 0.6, 0.5}}, {{NAN, 0.5, 0.5}}, {{INFINITY, 0.1, 0.1}},
		{{0, 0, 0}}};
	struct slow_prior good = {{0.2, 0.795, 0.005}}, read = slow_prior_default;
	json_t *json;

	(void)state;
	assert_true(slow_prior_valid(&slow_prior_default));
	assert_true(slow_prior_valid(&good));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(slow_prior_valid(&bad[i]));
		json = slow_prior_to_json(&bad[i]);
		assert_int_equal(slow_prior_from_json(json, &read), -1);
		json_decref(json);
	}
	assert_int_equal(slow_prior_from_json(NULL, &read), -1);
	assert_memory_equal(&read, &slow_prior_default, sizeof(read));
	json = slow_prior_to_json(&good);
	assert_int_equal(slow_prior_from_json(json, &read), 0);
	assert_memory_equal(&read, &good, sizeof(read));
	json_object_set_new(json, "narrow", json_string("0.795"));
	assert_int_equal(slow_prior_from_json(json, &read), -1);
	json_decref(json);
	assert_true(slow_likelihood_valid(alike) && slow_likelihood_valid(only_wide));
	assert_false(slow_likelihood_valid((const double[]){0.5, 0.6, -0.1}));
	assert_false(slow_likelihood_valid((const double[]){0.5, NAN, 0.5}));
	assert_float_equal(slow_prior_distance(&good, &slow_prior_default), 0.245, 1e-9);
}

static void who_tells_nothing_changes_nothing(void **state)
{
	struct slow_vote v[20] = {{.told = 0}};
	struct slow_prior with, without;

	(void)state;
	slow_prior_of_votes(v, 0, &without);
	assert_float_equal(slow_prior_distance(&without, &slow_prior_default), 0, 1e-12);
	for (int i = 0; i < 10; i++) {
		v[i] = user_of(narrow, 5);
		v[10 + i] = user_of(alike, 50);
	}
	slow_prior_of_votes(v, 10, &without);
	slow_prior_of_votes(v, 20, &with);
	assert_float_equal(slow_prior_distance(&with, &without), 0, 1e-12);
	/* Nor does such a job within a vote. */
	slow_vote_add(&v[0], alike);
	slow_prior_of_votes(v, 10, &with);
	assert_float_equal(slow_prior_distance(&with, &without), 0, 1e-9);
}

/* One user with any number of jobs, of whatever kind, beside 0, 1 and more honest ones. */
static void a_hostile_user_has_one_vote(void **state)
{
	static const double *const lies[] = {only_wide, only_none, narrow};
	static const int honest[] = {0, 1, 4, 10, 99};

	(void)state;
	for (size_t h = 0; h < sizeof(honest) / sizeof(honest[0]); h++) {
		double most = 0, bound = 1 / (SLOW_DEFAULT_VOTES + honest[h] + 1);
		struct slow_vote v[MOST_USERS];
		struct slow_prior with, without;

		for (int i = 0; i < honest[h]; i++)
			v[i] = user_of(i % 2 ? none : narrow, 8);
		slow_prior_of_votes(v, honest[h], &without);
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			v[honest[h]] = user_of(lies[i], 10000);
			slow_prior_of_votes(v, honest[h] + 1, &with);
			most = fmax(most, slow_prior_distance(&with, &without));
		}
		print_message("%d honest users: moved by %.4f of %.4f\n", honest[h], most, bound);
		/* The floor of a weight, and what makes the sum 1 again, come on top. */
		assert_true(most <= bound + 0.005);
	}
}

static void many_users_are_believed(void **state)
{
	struct slow_vote v[MOST_USERS];
	struct slow_prior p;

	(void)state;
	for (int i = 0; i < MOST_USERS; i++)
		v[i] = user_of(wide, 10);
	slow_prior_of_votes(v, MOST_USERS, &p);
	print_message("100 users of wide likelihoods: %.3f %.3f %.3f\n", p.weight[SLOW_NONE],
		p.weight[SLOW_NARROW], p.weight[SLOW_WIDE]);
	assert_true(p.weight[SLOW_WIDE] > 0.7);
	assert_true(slow_prior_valid(&p));
}

/* A user's last jobs count: on other programs, the vote follows. */
static void a_vote_follows_the_users_jobs(void **state)
{
	struct slow_vote v = user_of(narrow, 100);

	(void)state;
	assert_true(v.weights.weight[SLOW_NONE] < 0.1);
	assert_float_equal(v.told, SLOW_VOTE_JOBS, 0);
	for (int i = 0; i < 100; i++)
		slow_vote_add(&v, none);
	assert_true(v.weights.weight[SLOW_NONE] > 0.8);
}

static void every_prior_is_valid(void **state)
{
	(void)state;
	dice = 1;
	for (int run = 0; run < 2000; run++) {
		struct slow_vote v[MOST_USERS];
		int users = (int)(uniform() * MOST_USERS);
		struct slow_prior p;

		for (int i = 0; i < users; i++) {
			slow_vote_init(&v[i]);
			for (int jobs = (int)(uniform() * 4); jobs > 0; jobs--) {
				double l[SLOW_HYPOTHESES], sum = 0;

				for (int h = 0; h < SLOW_HYPOTHESES; h++)
					sum += l[h] = pow(uniform(), 20 * uniform());
				for (int h = 0; h < SLOW_HYPOTHESES; h++)
					l[h] /= sum;
				slow_vote_add(&v[i], l);
				assert_true(slow_likelihood_valid(v[i].weights.weight));
			}
		}
		slow_prior_of_votes(v, users, &p);
		assert_true(slow_prior_valid(&p));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_what_comes_from_outside),
		cmocka_unit_test(who_tells_nothing_changes_nothing),
		cmocka_unit_test(a_hostile_user_has_one_vote),
		cmocka_unit_test(many_users_are_believed),
		cmocka_unit_test(a_vote_follows_the_users_jobs),
		cmocka_unit_test(every_prior_is_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
