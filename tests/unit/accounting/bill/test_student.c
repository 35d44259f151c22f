/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of weighted means and their intervals. */
#include "accounting/bill/student.h"
#include "statistics/statistics.h"

#include "unit/accounting/bill/bill_rows.h"

static bool close_to(double a, double b, double off)
{
	return fabs(a - b) <= off;
}

/* Equal weights: the textbook's interval. */
static void equal_weights(void **state)
{
	const struct student_value v[] = {{0.10, 60, NAN}, {0.20, 60, NAN}, {0.30, 60, NAN}};
	struct student s = student_of(v, 3);
	double half = 4.3027 * 0.1 / sqrt(3);

	(void)state;
	assert_int_equal(s.n, 3);
	assert_true(near(s.weight, 180) && near(s.mean, 0.2));
	assert_true(close_to(s.lo, 0.2 - half, 1e-5) && close_to(s.hi, 0.2 + half, 1e-5));
}

/* The mean goes by weight; the interval does not take one long run for many. */
static void unequal_weights(void **state)
{
	const struct student_value v[] = {{0.10, 3, NAN}, {0.30, 1, NAN}};
	const struct student_value heavy[] = {
		{0.10, 1000, NAN}, {0.30, 1, NAN}, {0.31, 1, NAN}, {0.5, 0, NAN}};
	struct student s = student_of(v, 2), one = student_of(heavy, 4);

	(void)state;
	assert_true(near(s.mean, 0.15));
	/* They count as 16/10 equal ones. */
	assert_true(close_to(s.hi - s.mean,
		statistics_t95(0.6) * sqrt((3 * 0.0025 + 0.0225) / (4 - 10.0 / 4) / 1.6), 1e-9));
	assert_int_equal(one.n, 3);
	assert_true(one.mean < 0.101 && isnan(one.lo) && isnan(one.hi));
}

static void too_few(void **state)
{
	const struct student_value one[] = {{0.10, 3, 0.01}};
	struct student s = student_of(one, 1);

	(void)state;
	assert_true(s.n == 1 && near(s.mean, 0.1) && isnan(s.lo) && isnan(s.hi));
	s = student_of(one, 0);
	assert_true(!s.n && isnan(s.mean) && isnan(s.lo));
}

/* Values that agree by chance are no surer than each of them is measured. */
static void agreeing_by_chance(void **state)
{
	const struct student_value v[] = {{0.2, 1, 0.1}, {0.2, 1, 0.1}, {0.2, 1, NAN}};
	struct student s = student_of(v, 3);

	(void)state;
	assert_true(close_to(s.hi - s.mean, 0.1 * sqrt(2) / 3, 1e-9));
}

/* Some 95 of 100 intervals hold the truth, or more, with weights alike and not. */
static void coverage(void **state)
{
	uint64_t x = 1;

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		int holds = 0, told = 0;

		for (int i = 0; i < 4000; i++) {
			struct student_value v[5];
			struct student s;

			for (int k = 0; k < 5; k++) {
				double sum = 0, u = 0;

				for (int j = 0; j < 13; j++) {
					x = x * 6364136223846793005u + 1442695040888963407u;
					u = (double)(x >> 11) / 9007199254740992.0;
					sum += j < 12 ? u - 0.5 : 0;
				}
				v[k] = (struct student_value){sum, kind ? exp(3 * u) : 1, NAN};
			}
			s = student_of(v, 5);
			told += !isnan(s.lo);
			holds += s.lo <= 0 && s.hi >= 0;
		}
		assert_true(told > 3900);
		assert_true(holds >= 0.94 * told);
		if (!kind)
			assert_true(holds <= 0.96 * told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(equal_weights),
		cmocka_unit_test(unequal_weights), cmocka_unit_test(too_few),
		cmocka_unit_test(agreeing_by_chance), cmocka_unit_test(coverage)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
