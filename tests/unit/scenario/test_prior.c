/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a prior that other jobs of a machine have taught is worth to a job of one minute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>

#include "gen/families.h"

#define LENGTH_S 60
#define RUNS 16 /* of two to four jobs each */
#define USERS 8
#define FIRST_SEED 7001
#define HELD_OUT 9001

/* Runs on a machine whose caches refill slowly, or on one where nothing does. */
static struct gen_score judge(
	enum gen_kind kind, uint64_t seed, const struct slow_prior *prior, struct slow_vote *votes)
{
	struct gen_score score = {.jobs = 0};

	for (int run = 0, family = 0; run < RUNS; family = (family + 1) % gen_families()) {
		struct gen_spec spec;

		if (gen_family(family)->kind != kind)
			continue;
		gen_family_spec(family, seed + (uint64_t)run, &spec);
		spec.length_s = LENGTH_S;
		spec.beyond = GEN_BEYOND;
		assert_int_equal(gen_judge_with(&spec, ESTIMATE_ROBUST, prior, &score,
					 votes ? &votes[run % USERS] : NULL),
			0);
		run++;
	}
	return score;
}

static void learn(bool slow, struct slow_prior *prior)
{
	struct slow_vote votes[USERS];

	for (int u = 0; u < USERS; u++)
		slow_vote_init(&votes[u]);
	judge(slow ? GEN_SLOW : GEN_USUAL, FIRST_SEED, NULL, votes);
	slow_prior_of_votes(votes, USERS, prior);
}

/* The mean error of the run time that follows, of jobs that no prior was learned from. */
static double error_with(
	bool slow, const char *which, const struct slow_prior *prior, double *half_width)
{
	struct gen_score s = judge(slow ? GEN_SLOW : GEN_USUAL, HELD_OUT, prior, NULL);

	print_message(
		"%s, %s prior (%.2f %.2f %.2f): %d jobs, error %.3f %%, bias of D %+.4f, half "
		"interval %.4f, in it %d\n",
		slow ? "a slow part" : "no slow part", which, prior->weight[SLOW_NONE],
		prior->weight[SLOW_NARROW], prior->weight[SLOW_WIDE], s.jobs,
		100 * s.error / s.jobs, s.bias / s.jobs, s.width / s.jobs, s.covered);
	*half_width = s.width / s.jobs;
	return s.error / s.jobs;
}

static void a_learned_prior_is_no_worse(void **state)
{
	double gain[2], width[2], learned_width[2];

	(void)state;
	for (int slow = 0; slow < 2; slow++) {
		struct slow_prior learned;
		double usual, now;

		learn(slow, &learned);
		usual = error_with(slow, "default", &slow_prior_default, &width[slow]);
		now = error_with(slow, "learned", &learned, &learned_width[slow]);
		gain[slow] = 1 - now / usual;
		assert_true(
			slow ? learned.weight[SLOW_NONE] < 0.5 : learned.weight[SLOW_NONE] > 0.7);
		assert_true(gain[slow] > -0.03);
	}
	/* Where nothing is slow, that is known better. */
	assert_true(learned_width[0] < 0.9 * width[0] && learned_width[1] < 1.01 * width[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_learned_prior_is_no_worse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
