/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the suspicion of spin waiting, on jobs whose ranks wait for the slowest one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "poppa/estimate/clipmean.h"
#include "poppa/estimate/spin.h"

#define RANKS 8
#define SEEDS 50
#define BLOCKS 150

static uint64_t random_state;

static double uniform(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static double noisy(double rate)
{
	double g = sqrt(-2 * log(1 - uniform())) * cos(2 * 3.14159265358979 * uniform());

	return rate * fmax(1 + 0.04 * g, 0.1) * (uniform() < 0.02 ? 3 : 1);
}

/*
 * Ranks that compute alike and then wait for the slowest. slowed: how many ranks lose d beside the
 * co-runners. spin: instructions of a waiting rank, relative to a computing one; negative: they do
 * not wait for each other. Returns what the sum over the ranks says was lost.
 */
static double run(struct spin *s, int slowed, double d, double spin)
{
	double sum_co = 0, sum_solo = 0;

	for (int b = 0; b < BLOCKS; b++) {
		uint64_t id[RANKS];
		double x[RANKS];

		for (int r = 0; r < RANKS; r++) {
			/* A waiting rank computes for as long as it takes, and waits for the rest.
			 */
			double co = r < slowed    ? 1 - d
				    : spin < 0    ? 1
				    : slowed == 0 ? 1
						  : 1 - d + d * spin;
			double solo = noisy(1);

			co = noisy(co);
			sum_co += co;
			sum_solo += solo;
			id[r] = 4000 + (uint64_t)r;
			x[r] = log(solo / co);
		}
		spin_add(s, RANKS, id, x);
	}
	return 1 - sum_co / sum_solo;
}

static int verdicts(
	enum spin_verdict wanted, int slowed, double d, double spin, double *sum, double *most)
{
	int n = 0;

	*sum = *most = 0;
	for (int seed = 1; seed <= SEEDS; seed++) {
		struct spin *s = spin_new();
		struct spin_result r;

		random_state = (uint64_t)seed;
		*sum += run(s, slowed, d, spin) / SEEDS;
		spin_result(s, &r);
		*most += r.most / SEEDS;
		n += r.verdict == wanted;
		spin_free(s);
	}
	return n;
}

/* One rank is slowed and the others spin: their sum hides it, the slowest task shows it. */
static void spinning_is_suspected(void **state)
{
	double sum, most;

	(void)state;
	/* Waiting retires as much as computing, less, or more. */
	assert_true(verdicts(SPIN_UNEVEN, 1, 0.4, 1, &sum, &most) >= 0.95 * SEEDS);
	print_message("sum %.3f, slowest task %.3f, truth 0.4\n", sum, most);
	assert_true(sum < 0.1);
	assert_float_equal(most, 0.4, 0.02);
	assert_true(verdicts(SPIN_UNEVEN, 1, 0.4, 0.5, &sum, &most) >= 0.95 * SEEDS);
	assert_true(sum < 0.3);
	assert_float_equal(most, 0.4, 0.02);
	assert_true(verdicts(SPIN_CERTAIN, 1, 0.4, 1.5, &sum, &most) >= 0.95 * SEEDS);
	assert_true(sum < 0);
	assert_float_equal(most, 0.4, 0.02);
}

static void nothing_is_suspected_where_there_is_nothing(void **state)
{
	double sum, most;

	(void)state;
	/* All are slowed alike, none is, and progress that waiting does not inflate. */
	assert_int_equal(verdicts(SPIN_EVEN, RANKS, 0.4, 1, &sum, &most), SEEDS);
	assert_float_equal(sum, 0.4, 0.02);
	assert_int_equal(verdicts(SPIN_EVEN, 0, 0, 1, &sum, &most), SEEDS);
	assert_float_equal(sum, 0, 0.02);
	assert_int_equal(verdicts(SPIN_EVEN, 1, 0.4, 0, &sum, &most), SEEDS);
	assert_float_equal(sum, 0.4, 0.02);
}

/* Tasks that do not wait for each other cannot be told from ranks that spin: a suspicion, though
 * never a certainty, and the sum is right. */
static void independent_tasks_are_no_certainty(void **state)
{
	double sum, most;

	(void)state;
	assert_int_equal(verdicts(SPIN_CERTAIN, 2, 0.4, -1, &sum, &most), 0);
	assert_float_equal(sum, 0.1, 0.02);
	assert_true(most > sum + 0.2);
}

static void few_data_are_no_verdict(void **state)
{
	struct spin *s = spin_new();
	struct spin_result r;
	uint64_t id[] = {1, 2};
	double x[] = {0.5, 0};

	(void)state;
	spin_result(s, &r);
	assert_int_equal(r.verdict, SPIN_UNKNOWN);
	assert_true(isnan(r.most));
	for (int i = 0; i < 100; i++)
		spin_add(s, 1, id, x);
	spin_result(s, &r);
	assert_int_equal(r.verdict, SPIN_UNKNOWN); /* one task */
	for (int i = 0; i < 11; i++)
		spin_add(s, 2, id, x);
	spin_result(s, &r);
	assert_int_equal(r.verdict, SPIN_UNKNOWN);
	x[1] = NAN;
	spin_add(s, 2, id, x);
	spin_result(s, &r);
	assert_int_equal(r.verdict, SPIN_UNKNOWN);
	x[1] = 0;
	spin_add(s, 2, id, x);
	spin_result(s, &r);
	assert_int_equal(r.verdict, SPIN_UNEVEN);
	assert_string_equal(spin_verdict_name(r.verdict), "uneven");
	/* Another step: the tasks of the first one are no measure for it. */
	id[0] = 3;
	spin_add(s, 2, id, x);
	spin_result(s, &r);
	assert_int_equal(r.verdict, SPIN_UNKNOWN);
	spin_free(s);
}

static void more_tasks_than_room(void **state)
{
	static uint64_t id[SPIN_MAX_TASKS + 40];
	static double x[SPIN_MAX_TASKS + 40];
	struct spin *s = spin_new();
	struct spin_result r;

	(void)state;
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < SPIN_MAX_TASKS + 40; i++) {
			/* From the 20th on all others than before. */
			id[i] = (uint64_t)(i + (round < 20 ? 0 : 10000));
			x[i] = 0.1;
		}
		spin_add(s, SPIN_MAX_TASKS + 40, id, x);
	}
	spin_result(s, &r);
	assert_int_equal(r.verdict, SPIN_EVEN);
	spin_free(s);
}

static void wild_values_do_not_move_the_mean(void **state)
{
	struct clipmean m = {.spread = 0.15};

	(void)state;
	assert_true(isinf(clipmean_variance(&m)));
	random_state = 5;
	for (int i = 0; i < 2000; i++)
		clipmean_add(&m, i % 50 == 10 ? 100 : 0.2 + 0.1 * (uniform() - 0.5));
	assert_float_equal(m.mean, 0.2, 0.01);
	assert_true(clipmean_variance(&m) < 1e-5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spinning_is_suspected),
		cmocka_unit_test(nothing_is_suspected_where_there_is_nothing),
		cmocka_unit_test(independent_tasks_are_no_certainty),
		cmocka_unit_test(few_data_are_no_verdict),
		cmocka_unit_test(more_tasks_than_room),
		cmocka_unit_test(wild_values_do_not_move_the_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
