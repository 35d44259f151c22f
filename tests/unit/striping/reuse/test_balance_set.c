/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the choice of groups by PERF and FAIR. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "striping/reuse/balance_set.h"

/* Program i misses i times in a hundred, whoever is beside it. */
static double by_number(const int *member, int size, void *arg)
{
	double sum = 0;

	(void)arg;
	for (int i = 0; i < size; i++)
		sum += member[i] / 100.0;
	return sum / size;
}

static void groups(void **state)
{
	struct balance_set *set = balance_set_new(8, 4, by_number, NULL, NULL);
	double before = 0;
	int n = 0;

	(void)state;
	assert_non_null(set);
	for (const struct balance_group *g; (g = balance_set_group(set, n)); n++) {
		assert_int_equal(__builtin_popcount(g->members), 4);
		assert_true(g->miss_rate >= before);
		before = g->miss_rate;
	}
	assert_int_equal(n, 70);
	assert_int_equal(balance_set_group(set, 0)->members, 0xf);
	/* The last one's best company: 0, 1, 2. */
	assert_true(balance_set_threshold(set) == (7 + 0 + 1 + 2) / 400.0);
	balance_set_free(set);
}

static void play(enum balance_policy policy, int *chosen)
{
	struct balance_set *set = balance_set_new(8, 4, by_number, NULL, NULL);
	double threshold = balance_set_threshold(set);

	memset(chosen, 0, 8 * sizeof(*chosen));
	for (int i = 0; i < 800; i++) {
		const struct balance_group *g = balance_set_next(set, policy, threshold);

		if (policy == BALANCE_FAIR)
			assert_true(g->miss_rate <= threshold);
		for (int p = 0; p < 8; p++)
			chosen[p] += g->members >> p & 1;
	}
	balance_set_free(set);
}

static void nobody_starves(void **state)
{
	int perf[8], fair[8];

	(void)state;
	play(BALANCE_PERF, perf);
	play(BALANCE_FAIR, fair);
	for (int p = 0; p < 8; p++) {
		assert_true(perf[p] >= 800 / 13);
		assert_true(fair[p] >= 800 / 13);
	}
	/* PERF prefers those that miss little more than FAIR does. */
	assert_true(perf[0] > 700);
	assert_true(fair[7] > perf[7]);
}

/* With no threshold FAIR gives all the same. */
static void equal_shares(void **state)
{
	struct balance_set *set = balance_set_new(8, 4, by_number, NULL, NULL);
	int chosen[8] = {0};

	(void)state;
	for (int i = 0; i < 800; i++) {
		uint32_t members = balance_set_next(set, BALANCE_FAIR, 1)->members;

		for (int p = 0; p < 8; p++)
			chosen[p] += members >> p & 1;
	}
	for (int p = 0; p < 8; p++)
		assert_in_range(chosen[p], 399, 401);
	/* No group is admissible: the best one. */
	assert_int_equal(balance_set_next(set, BALANCE_FAIR, -1)->members, 0xf);
	balance_set_free(set);
}

static void all_of_them(void **state)
{
	struct balance_set *set =
		balance_set_new(REUSE_GROUP_MAX, REUSE_GROUP_MAX, by_number, NULL, NULL);

	(void)state;
	assert_int_equal(balance_set_group(set, 0)->members, UINT32_MAX);
	assert_null(balance_set_group(set, 1));
	assert_true(balance_set_threshold(set) > 0);
	balance_set_free(set);
}

static void refused(void **state)
{
	struct errmsg err;

	(void)state;
	assert_null(balance_set_new(3, 4, by_number, NULL, &err));
	assert_non_null(strstr(err.text, "groups of 4 out of 3"));
	assert_null(balance_set_new(33, 2, by_number, NULL, &err));
	assert_null(balance_set_new(0, 0, by_number, NULL, &err));
	assert_null(balance_set_new(32, 16, by_number, NULL, &err));
	assert_non_null(strstr(err.text, "fewer"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups),
		cmocka_unit_test(nobody_starves),
		cmocka_unit_test(equal_shares),
		cmocka_unit_test(all_of_them),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
