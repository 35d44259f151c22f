/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/trial/outcome.c, with figures that were worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trial/outcome.h"

#define ROUNDS 3

static void near(double is, double expected)
{
	if (!(fabs(is - expected) < 1e-3))
		print_error("%.6f is not %.6f\n", is, expected);
	assert_true(fabs(is - expected) < 1e-3);
}

static void means(void **state)
{
	struct trial_figure f = trial_mean((const double[]){NAN, 1, NAN, 2, 3}, 5);

	(void)state;
	/* Student's t of two degrees of freedom is 4.303; the mean's error is 1/sqrt(3). */
	near(f.mean, 2);
	near(f.lo, 2 - 4.303 * 0.57735);
	near(f.hi, 2 + 4.303 * 0.57735);
	f = trial_mean((const double[]){1, 3}, 2);
	near(f.lo, 2 - 12.706);
	near(f.hi, 2 + 12.706);
	f = trial_mean((const double[]){NAN, 5}, 2);
	near(f.mean, 5);
	assert_true(isnan(f.lo) && isnan(f.hi));
	f = trial_mean((const double[]){NAN, NAN}, 2);
	assert_true(isnan(f.mean) && isnan(f.lo) && isnan(f.hi));
	assert_true(isnan(trial_mean(NULL, 0).mean));
}

/* Programs that do one unit a second when they run compact. */
static struct trial *new_trial(int programs, int rounds)
{
	struct trial *t = trial_new(programs, ROUNDS);

	assert_non_null(t);
	assert_int_equal(t->pairs, programs * (programs - 1) / 2);
	t->rounds = rounds;
	for (int i = 0; i < programs; i++) {
		t->program[i].unit = TRIAL_UNIT_RUNS;
		for (int k = 0; k < rounds; k++)
			t->program[i].compact[k] = 1;
	}
	return t;
}

/* Gives a pair this STP, give or take: half of it in each program. */
static void set_stp(struct trial *t, int a, int b, double stp, double apart)
{
	for (int i = 0; i < t->pairs; i++) {
		struct trial_pair *p = &t->pair[i];

		if (p->program[0] != a || p->program[1] != b)
			continue;
		for (int k = 0; k < t->rounds; k++)
			p->round[k].rate[0] = p->round[k].rate[1] =
				(stp + (k - (t->rounds - 1) / 2.0) * apart) / 2;
		return;
	}
	fail();
}

static void rounds_of_a_pair(void **state)
{
	struct trial *t = new_trial(2, 2);
	struct trial_pair *p = &t->pair[0];

	(void)state;
	t->program[0].compact[0] = 2;
	t->program[1].compact[0] = 5;
	p->round[0] = (struct trial_pair_round){{1.5, 4}, {0.1, NAN}};
	t->program[1].alone[1][0] = 4.5; /* in the second place */
	t->program[1].alone[0][0] = 100;
	near(trial_round_stp(t, p, 0), 1.5 / 2 + 4.0 / 5);
	near(trial_round_loss(t, p, 0, 0), 0.1);
	near(trial_round_loss(t, p, 1, 0), 1 - 4 / 4.5);
	/* Without a program's own runs only the counter tells. */
	t->program[1].unit = TRIAL_UNIT_COUNTER;
	assert_true(isnan(trial_round_loss(t, p, 1, 0)));
	/* Nothing is known of the other round. */
	assert_true(isnan(trial_round_stp(t, p, 1)));
	assert_true(isnan(trial_round_loss(t, p, 0, 1)));
	t->program[0].compact[0] = 0;
	assert_true(isnan(trial_round_stp(t, p, 0)));
	t->program[0].compact[0] = 2;

	trial_judge(t);
	near(t->stp.mean, 1.55);
	assert_true(isnan(t->stp.lo));
	near(p->loss[0].mean, 0.1);
	assert_true(isnan(p->loss[1].mean));
	trial_free(t);
}

static void verdicts(void **state)
{
	static const struct {
		double stp, apart;
		int rounds;
		enum trial_verdict verdict;
		const char *name, *why;
		int partner; /* of the first */
	} row[] = {
		{1.4, 0.01, 3, TRIAL_COLOCATE, "colocate", "1.40 times the work (1.38 to 1.42)", 1},
		{0.8, 0.01, 3, TRIAL_DO_NOT, "do-not", "only 0.80 times the work (0.78 to 0.82)",
			0},
		{1.1, 0.2, 3, TRIAL_UNCERTAIN, "uncertain", "may be a gain or a loss", 1},
		{0.9, 0.2, 3, TRIAL_UNCERTAIN, "uncertain", "may be a gain or a loss", 0},
		{1.4, 0, 1, TRIAL_UNCERTAIN, "uncertain", "give more --rounds", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct trial *t = new_trial(2, row[i].rounds);

		set_stp(t, 0, 1, row[i].stp, row[i].apart);
		trial_judge(t);
		near(t->stp.mean, row[i].stp);
		assert_int_equal(t->verdict, row[i].verdict);
		assert_int_equal(t->pair[0].verdict, row[i].verdict);
		assert_string_equal(trial_verdict_name(t->verdict), row[i].name);
		if (!strstr(t->why, row[i].why))
			print_error("%s\n", t->why);
		assert_non_null(strstr(t->why, row[i].why));
		assert_int_equal(t->partner[0], row[i].partner);
		trial_free(t);
	}
}

static void unknown_units(void **state)
{
	struct trial *t = new_trial(2, 3);

	(void)state;
	t->program[1].unit = TRIAL_UNIT_NONE;
	snprintf(t->program[1].note, sizeof(t->program[1].note), "nobody counts it");
	trial_judge(t);
	assert_true(isnan(t->stp.mean) && isnan(t->stp.lo) && isnan(t->stp.hi));
	assert_int_equal(t->verdict, TRIAL_UNCERTAIN);
	assert_non_null(strstr(t->why, "not known: nobody counts it"));
	assert_int_equal(t->partner[1], 1);
	trial_free(t);
	/* It could be counted, and was not. */
	t = new_trial(2, 3);
	trial_judge(t);
	assert_int_equal(t->verdict, TRIAL_UNCERTAIN);
	assert_non_null(strstr(t->why, "give more --time"));
	trial_free(t);
}

static void three_programs(void **state)
{
	struct trial *t = new_trial(3, 3);

	(void)state;
	set_stp(t, 0, 1, 1.1, 0.001);
	set_stp(t, 0, 2, 0.8, 0.001);
	set_stp(t, 1, 2, 1.6, 0.001);
	trial_judge(t);
	assert_int_equal(t->partner[0], 0);
	assert_int_equal(t->partner[1], 2);
	assert_int_equal(t->partner[2], 1);
	/* Three hours of work in 1 h alone and 2/1.6 h together. */
	near(t->stp.mean, 3 / (1 + 2 / 1.6));
	/* 0.001 apart: the interval of the pair is 4.303 * 0.001 / sqrt(3) on each side. */
	near(t->stp.lo, 3 / (1 + 2 / (1.6 - 0.002484)));
	assert_true(t->stp.lo < t->stp.mean && t->stp.mean < t->stp.hi);
	assert_int_equal(t->verdict, TRIAL_COLOCATE);
	assert_int_equal(t->pair[1].verdict, TRIAL_DO_NOT);
	trial_free(t);
}

static void four_programs(void **state)
{
	struct trial *t = new_trial(4, 3);

	(void)state;
	/* The best pair leaves two over that do not suit each other. */
	set_stp(t, 0, 3, 1.4, 0.001);
	set_stp(t, 1, 2, 0.9, 0.001);
	set_stp(t, 0, 1, 1.3, 0.001);
	set_stp(t, 2, 3, 1.25, 0.001);
	set_stp(t, 0, 2, 0.7, 0.001);
	set_stp(t, 1, 3, 0.7, 0.001);
	trial_judge(t);
	assert_int_equal(t->partner[0], 1);
	assert_int_equal(t->partner[3], 2);
	near(t->stp.mean, 4 / (2 / 1.3 + 2 / 1.25));
	assert_int_equal(t->verdict, TRIAL_COLOCATE);
	/* One of the chosen pairs may be a loss. */
	set_stp(t, 2, 3, 1.25, 0.5);
	trial_judge(t);
	assert_int_equal(t->partner[3], 2);
	assert_int_equal(t->verdict, TRIAL_UNCERTAIN);
	assert_non_null(strstr(t->why, "no pairing certainly gains"));
	trial_free(t);
}

static void no_pair_gains(void **state)
{
	struct trial *t = new_trial(3, 3);

	(void)state;
	set_stp(t, 0, 1, 0.9, 0.001);
	set_stp(t, 0, 2, 0.8, 0.001);
	trial_judge(t);
	assert_int_equal(t->verdict, TRIAL_UNCERTAIN);
	assert_non_null(strstr(t->why, "some pairs is not known"));
	set_stp(t, 1, 2, 0.7, 0.001);
	trial_judge(t);
	assert_int_equal(t->verdict, TRIAL_DO_NOT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(t->partner[i], i);
	near(t->stp.mean, 1);
	trial_free(t);
}

/* An interval that reaches below 0 says that nothing may be done, and not more than all. */
static void wide_intervals(void **state)
{
	static const double apart[] = {0.5, 1, 2, 4, 8};

	(void)state;
	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		struct trial *t = new_trial(3, 3);

		set_stp(t, 0, 1, 1.3, apart[i]);
		trial_judge(t);
		assert_int_equal(t->partner[0], 1);
		assert_true(t->stp.lo >= 0);
		assert_true(t->stp.lo < t->stp.mean && t->stp.mean < t->stp.hi);
		assert_int_equal(t->verdict, TRIAL_UNCERTAIN);
		trial_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means),
		cmocka_unit_test(rounds_of_a_pair),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(unknown_units),
		cmocka_unit_test(three_programs),
		cmocka_unit_test(four_programs),
		cmocka_unit_test(no_pair_gains),
		cmocka_unit_test(wide_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
