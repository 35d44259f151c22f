/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the prices of lanes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "striping/partners/lane_prices.h"

#define SOFT 0.01
#define ROUNDS 400

/* Two classes that get on badly with themselves and well with each other. */
static void opposites(void **state)
{
	const double worth[] = {1.0, 1.3, 1.3, 1.1};
	const double demand[] = {1, 1};
	double price[2] = {0, 0};

	(void)state;
	lane_prices_solve(worth, demand, 2, SOFT, ROUNDS, price);
	/* Such a pair shares what it makes, and nobody gains by a twin. */
	assert_true(fabs(price[0] + price[1] - 1.3) < 0.02);
	assert_true(worth[0] - price[0] < price[0]);
	assert_true(worth[3] - price[1] < price[1] + 0.02);
}

/* Of a class that is rare the lanes beside it are worth more. */
static void what_is_rare_is_dear(void **state)
{
	const double worth[] = {1.0, 1.3, 1.3, 1.1};
	double even[2] = {0, 0}, rare[2] = {0, 0};

	(void)state;
	lane_prices_solve(worth, (const double[]){1, 1}, 2, SOFT, ROUNDS, even);
	lane_prices_solve(worth, (const double[]){9, 1}, 2, SOFT, ROUNDS, rare);
	/* Most of the first class have to take each other, for half of 1.0 each. */
	assert_true(fabs(rare[0] - 0.5) < 0.02);
	assert_true(fabs(rare[1] - 0.8) < 0.03);
	assert_true(rare[1] > even[1] + 0.05);
}

/* The equations that the header has hold, for classes of any demand. */
static void equations_hold(void **state)
{
	enum { N = 12 };
	double worth[N * N], demand[N], price[N] = {0}, all = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		demand[i] = i % 5;
		all += demand[i];
		for (int j = 0; j <= i; j++)
			worth[i * N + j] = worth[j * N + i] = 1 + 0.3 * sin(7.0 * i * j + i + j);
	}
	lane_prices_solve(worth, demand, N, 0.05, ROUNDS, price);
	for (int i = 0; i < N; i++) {
		double sum = 0;

		for (int j = 0; j < N; j++)
			sum += demand[j] / all *
			       exp((worth[i * N + j] - price[i] - price[j]) / 0.05);
		assert_true(fabs(sum - 1) < 1e-3);
	}
	/* Also from prices of before, in fewer rounds. */
	for (int i = 0; i < N; i++)
		price[i] += 0.001 * i;
	lane_prices_solve(worth, demand, N, 0.05, 40, price);
	assert_true(isfinite(price[0]));
}

static void nobody_wants_any(void **state)
{
	const double worth[] = {1.0};
	double price[] = {0.25};

	(void)state;
	lane_prices_solve(worth, (const double[]){0}, 1, SOFT, ROUNDS, price);
	assert_true(price[0] == 0.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opposites),
		cmocka_unit_test(what_is_rare_is_dear),
		cmocka_unit_test(equations_hold),
		cmocka_unit_test(nobody_wants_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
