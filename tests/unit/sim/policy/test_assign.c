/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests matchings against all there are, on small cases. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "sim/policy/assign.h"
#include "sim/world/draw.h"

#define MOST 5

/* The greatest sum of all matchings of the rows from `row` on. */
static double best_sum(int rows, int columns, const double *worth, int row, unsigned int taken)
{
	double best;

	if (row == rows)
		return 0;
	best = best_sum(rows, columns, worth, row + 1, taken);
	for (int j = 0; j < columns; j++) {
		double w = worth[row * columns + j];

		if (w > 0 && !(taken & 1u << j))
			best = fmax(
				best, w + best_sum(rows, columns, worth, row + 1, taken | 1u << j));
	}
	return best;
}

static void check_columns(int rows, int columns, const int *out)
{
	for (int i = 0; i < rows; i++) {
		assert_true(out[i] >= -1 && out[i] < columns);
		for (int k = 0; k < i; k++)
			assert_true(out[i] < 0 || out[i] != out[k]);
	}
}

static void test_best(void **state)
{
	(void)state;
	for (int n = 0; n < 2000; n++) {
		int rows = 1 + n % MOST, columns = 1 + n / MOST % MOST, out[MOST];
		double worth[MOST * MOST], sum = 0;

		for (int i = 0; i < rows * columns; i++)
			worth[i] = draw_below(7, DRAW_MATRIX, (uint64_t)n, (uint64_t)i, 13) - 4;
		assert_int_equal(assign_best(rows, columns, worth, out), 0);
		check_columns(rows, columns, out);
		for (int i = 0; i < rows; i++)
			if (out[i] >= 0) {
				assert_true(worth[i * columns + out[i]] > 0);
				sum += worth[i * columns + out[i]];
			}
		assert_true(fabs(sum - best_sum(rows, columns, worth, 0, 0)) < 1e-9);
	}
}

/* No row and column that may be together would both rather have each other. */
static void test_stable(void **state)
{
	(void)state;
	for (int n = 0; n < 2000; n++) {
		int rows = 1 + n % MOST, columns = 1 + n / MOST % MOST, out[MOST], owner[MOST];
		double likes[MOST * MOST], gives[MOST * MOST];

		for (int i = 0; i < rows * columns; i++) {
			likes[i] = draw_uniform(1, DRAW_MATRIX, (uint64_t)n, (uint64_t)i);
			gives[i] = draw_uniform(2, DRAW_MATRIX, (uint64_t)n, (uint64_t)i);
			if (likes[i] < 0.2)
				likes[i] = NAN;
		}
		assert_int_equal(assign_stable(rows, columns, likes, gives, out), 0);
		check_columns(rows, columns, out);
		for (int j = 0; j < columns; j++)
			owner[j] = -1;
		for (int i = 0; i < rows; i++)
			if (out[i] >= 0)
				owner[out[i]] = i;
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < columns; j++) {
				int at = i * columns + j;

				if (isnan(likes[at])) {
					assert_true(out[i] != j);
					continue;
				}
				assert_false(
					(out[i] < 0 || likes[at] > likes[i * columns + out[i]]) &&
					(owner[j] < 0 ||
						gives[at] > gives[owner[j] * columns + j]));
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_best), cmocka_unit_test(test_stable)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
