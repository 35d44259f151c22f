/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holds the charges of a simulated population against an oracle's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "gen/fairness.h"

#define RUNS 60
#define FIRST_SEED 5001

static struct fairness scheme[FAIRNESS_SCHEMES];

static int make_population(void **state)
{
	(void)state;
	fairness_clear(scheme);
	for (int run = 0; run < RUNS; run++)
		if (fairness_add_run(FIRST_SEED + (uint64_t)run, 300, scheme))
			return -1;
	return 0;
}

static void every_job_has_a_price(void **state)
{
	(void)state;
	assert_true(scheme[FAIRNESS_ROBUST].jobs >= 2 * RUNS);
	assert_int_equal(scheme[FAIRNESS_ROBUST].unknown, 0);
}

static void close_to_the_oracle(void **state)
{
	const struct fairness *ours = &scheme[FAIRNESS_ROBUST];
	const struct fairness *thesis = &scheme[FAIRNESS_THESIS];

	(void)state;
	print_message("distance from the oracle: ours %.3f points, thesis %.3f\n",
		100 * ours->distance / ours->jobs, 100 * thesis->distance / thesis->jobs);
	assert_true(ours->distance / ours->jobs <= 0.005);
	assert_true(ours->distance < thesis->distance);
}

static void nobody_pays_for_a_neighbour(void **state)
{
	(void)state;
	print_message("the highest charge: ours %.2f %% of the solo price, thesis %.2f %%\n",
		100 * scheme[FAIRNESS_ROBUST].highest, 100 * scheme[FAIRNESS_THESIS].highest);
	assert_true(scheme[FAIRNESS_ROBUST].highest <= 1.005);
}

/* What an administrator chooses with estimate=upper: nobody pays more, and the discounts that are
 * too large cost distance. */
static void the_upper_end_favours_the_user(void **state)
{
	const struct fairness *point = &scheme[FAIRNESS_ROBUST], *upper = &scheme[FAIRNESS_UPPER];

	(void)state;
	print_message("by the upper end: distance %.3f points, highest %.2f %%\n",
		100 * upper->distance / upper->jobs, 100 * upper->highest);
	assert_true(upper->highest <= fmin(1, point->highest));
	assert_true(upper->sum < point->sum);
	assert_true(upper->distance > point->distance);
	assert_true(upper->distance / upper->jobs <= 0.025);
}

static void the_oracle_is_the_policy(void **state)
{
	const struct fairness *oracle = &scheme[FAIRNESS_ORACLE];

	(void)state;
	assert_true(oracle->distance == 0);
	assert_true(oracle->highest <= 1 + 1e-6);
	/* Its mean discount is the mean true degradation, and practice charges the others' noise.
	 */
	assert_true(oracle->sum < oracle->jobs);
	assert_true(scheme[FAIRNESS_PRACTICE].sum > oracle->jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_has_a_price),
		cmocka_unit_test(close_to_the_oracle),
		cmocka_unit_test(nobody_pays_for_a_neighbour),
		cmocka_unit_test(the_upper_end_favours_the_user),
		cmocka_unit_test(the_oracle_is_the_policy),
	};

	return cmocka_run_group_tests(tests, make_population, NULL);
}
