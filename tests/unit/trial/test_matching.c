/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/trial/matching.c, with all pairings as the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "trial/matching.h"

#define MOST 7

/* The least hours of those that are not done yet. */
static double brute(const double *together, int n, unsigned int done)
{
	int first = 0;
	double best;

	while (first < n && (done >> first & 1))
		first++;
	if (first == n)
		return 0;
	best = 1 + brute(together, n, done | 1u << first);
	for (int j = first + 1; j < n; j++)
		if (!(done >> j & 1) && !isnan(together[first * n + j])) {
			double with = together[first * n + j] +
				      brute(together, n, done | 1u << first | 1u << j);

			best = with < best ? with : best;
		}
	return best;
}

/* The hours of a choice, which has to be one. */
static double hours_of(const double *together, int n, const int *partner)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		assert_in_range(partner[i], 0, n - 1);
		assert_int_equal(partner[partner[i]], i);
		if (partner[i] == i)
			sum++;
		else if (partner[i] > i)
			sum += together[i * n + partner[i]];
	}
	return sum;
}

static double draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / (double)(UINT64_C(1) << 53);
}

static void random_matrices(void **state)
{
	uint64_t seed = 1;
	int paired = 0, alone = 0;

	(void)state;
	for (int k = 0; k < 2000; k++) {
		double together[MOST * MOST], best;
		int n = 1 + k % MOST, partner[MOST];

		/* Below the diagonal is nothing that counts. */
		for (int i = 0; i < n * n; i++)
			together[i] = i % n <= i / n       ? 0.1
				      : draw(&seed) < 0.25 ? NAN
							   : 1 + 1.6 * draw(&seed);
		best = matching_best(together, n, partner);
		assert_true(fabs(best - brute(together, n, 0)) < 1e-9 * MOST);
		assert_true(fabs(best - hours_of(together, n, partner)) < 1e-9);
		assert_true(best <= n);
		for (int i = 0; i < n; i++) {
			paired += partner[i] != i;
			alone += partner[i] == i;
		}
	}
	/* Both are tried. */
	assert_true(paired > 1000 && alone > 1000);
}

static void equal_choices(void **state)
{
	double together[16];
	int partner[4];

	(void)state;
	/* Nothing is gained by a pair. */
	for (int i = 0; i < 16; i++)
		together[i] = 2;
	assert_true(matching_best(together, 4, partner) == 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(partner[i], i);
	for (int i = 0; i < 16; i++)
		together[i] = NAN;
	assert_true(matching_best(together, 4, partner) == 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(partner[i], i);
}

/* The best pair of all is in no best choice. */
static void not_the_greedy_one(void **state)
{
	double together[16];
	int partner[4];

	(void)state;
	for (int i = 0; i < 16; i++)
		together[i] = 2.5;
	together[0 * 4 + 1] = 1.2;
	together[0 * 4 + 2] = together[1 * 4 + 3] = 1.3;
	assert_true(fabs(matching_best(together, 4, partner) - 2.6) < 1e-9);
	assert_int_equal(partner[0], 2);
	assert_int_equal(partner[3], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_matrices),
		cmocka_unit_test(equal_choices),
		cmocka_unit_test(not_the_greedy_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
