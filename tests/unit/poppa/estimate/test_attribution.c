/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of who costs whom, on jobs whose pairwise costs are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "poppa/estimate/attribution.h"

#define JOBS 4
#define WINDOWS 4
#define SEEDS 20

struct node {
	uint64_t state;
	double noise, outliers;
	/* What a victim's rate is when only these co-runners (bits) run. */
	double (*rate)(const struct node *n, int victim, unsigned running);
	double cost[JOBS][JOBS];
};

static double uniform(struct node *n)
{
	uint64_t z = n->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static double gauss(struct node *n)
{
	return sqrt(-2 * log(1 - uniform(n))) * cos(2 * 3.14159265358979 * uniform(n));
}

/* Each co-runner takes its share of what the others leave. */
static double independent(const struct node *n, int victim, unsigned running)
{
	double rate = 1.5;

	for (int c = 0; c < JOBS; c++)
		if (c != victim && running & 1U << c)
			rate *= 1 - n->cost[victim][c];
	return rate;
}

/* They fight for the same thing: the second one takes less than it would alone. */
static double saturating(const struct node *n, int victim, unsigned running)
{
	double load = 0;

	for (int c = 0; c < JOBS; c++)
		if (c != victim && running & 1U << c)
			load += n->cost[victim][c];
	return 1.5 * (1 - 0.7 * (1 - exp(-load)));
}

/* A block of victim in which `running` is who runs during. Caches take 0.3 ms of 0.8 ms windows. */
static struct est_block block_of(struct node *n, int victim, unsigned running, uint64_t start)
{
	unsigned all = (1U << JOBS) - 1;
	double with = n->rate(n, victim, all), without = n->rate(n, victim, running);
	struct est_block b = {
		.start_ns = start, .before_n = WINDOWS, .during_n = WINDOWS, .after_n = WINDOWS};

	for (int k = 0; k < 3 * WINDOWS; k++) {
		int region = k / WINDOWS, i = k % WINDOWS;
		double left = (exp(-i / 0.375) - exp(-(i + 1) / 0.375)) * 0.375, rate = with;
		struct est_window *w = region == 0   ? &b.before[i]
				       : region == 1 ? &b.during[i]
						     : &b.after[i];

		if (region == 1)
			rate = without + (with - without) * left;
		else if (region == 2)
			rate = with + (without - with) * left;
		rate *= 1 + n->noise * gauss(n);
		if (uniform(n) < n->outliers)
			rate *= uniform(n) < 0.5 ? 0.2 : 4;
		*w = (struct est_window){rate * 2e6, 2e6, 8e5, 0};
	}
	return b;
}

/* Every fourth block is one of absence, as on a node. Degradation and shares of all jobs. */
static void run(struct node *n, int blocks, double *degradation,
	struct attribution_share share[JOBS][RECORD_MAX_PARTNERS], int *count)
{
	struct estimator *e[JOBS];
	struct attribution a[JOBS];

	memset(a, 0, sizeof(a));
	for (int j = 0; j < JOBS; j++)
		e[j] = estimator_new(ESTIMATE_ROBUST, NULL);
	for (int i = 0; i < blocks; i++) {
		int turn = i % JOBS;
		uint64_t start = (uint64_t)i * 400000000;

		for (int j = 0; j < JOBS; j++)
			for (int c = 0; c < JOBS; c++)
				if (c != j)
					attribution_together(
						&a[j], 100 + (uint32_t)c, 400000000, false);
		if (i / JOBS % 4) {
			struct est_block b = block_of(n, turn, 1U << turn, start);

			estimator_add(e[turn], &b);
			continue;
		}
		for (int j = 0; j < JOBS; j++) {
			struct est_block b;

			if (j == turn)
				continue;
			b = block_of(n, j, ((1U << JOBS) - 1) & ~(1U << turn), start);
			assert_true(attribution_block(&a[j], 100 + (uint32_t)turn, &b));
		}
	}
	for (int j = 0; j < JOBS; j++) {
		struct est_result r;

		estimator_result(e[j], &r);
		degradation[j] = r.degradation;
		count[j] = attribution_shares(&a[j], r.degradation, r.variance, share[j]);
		estimator_free(e[j]);
	}
}

/* Job 0 is hurt by all, 1 by one alone, 2 by two alike, 3 by nobody. */
static struct node some_node(uint64_t seed, double (*rate)(const struct node *, int, unsigned))
{
	static const double cost[JOBS][JOBS] = {
		{0, 0.25, 0.10, 0.05}, {0.30, 0, 0, 0}, {0.15, 0.15, 0, 0}, {0, 0, 0, 0}};
	struct node n = {.state = seed, .noise = 0.05, .outliers = 0.02, .rate = rate};

	memcpy(n.cost, cost, sizeof(cost));
	return n;
}

static void shares_are_the_pairwise_costs(void **state)
{
	int covered = 0, shares = 0;
	double error = 0, worst = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct node n = some_node(seed, independent);
		struct attribution_share share[JOBS][RECORD_MAX_PARTNERS];
		double d[JOBS];
		int count[JOBS];

		run(&n, 1500, d, share, count);
		/* Nothing is lost, so nobody took more than noise. */
		for (int i = 0; i < count[3]; i++)
			assert_true(share[3][i].degradation < 0.01);
		for (int j = 0; j < 3; j++) {
			double sum = 0, total = 0;

			assert_int_equal(count[j], JOBS - 1);
			for (int c = 0; c < JOBS; c++)
				total += -log(1 - n.cost[j][c]);
			for (int i = 0; i < count[j]; i++) {
				int c = (int)share[j][i].job_id - 100;
				double truth = -log(1 - n.cost[j][c]) / total * (1 - exp(-total));
				double off = fabs(share[j][i].degradation - truth);

				sum += share[j][i].degradation;
				error += off;
				worst = fmax(worst, off);
				covered += share[j][i].lo <= truth && truth <= share[j][i].hi;
				shares++;
			}
			assert_float_equal(sum, d[j], 1e-9);
		}
	}
	print_message("shares: mean error %.4f, worst %.4f, in the interval %d of %d\n",
		error / shares, worst, covered, shares);
	assert_true(error / shares < 0.01);
	assert_true(worst < 0.04);
	assert_true(covered >= 0.9 * shares);
}

/* Shapley value of co-runner c in the loss of job 0: what it adds, over all orders of coming. */
static double shapley(const struct node *n, int c)
{
	static const int order[6][3] = {
		{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
	double sum = 0, alone = n->rate(n, 0, 1);

	for (int o = 0; o < 6; o++) {
		unsigned running = 1;

		for (int i = 0; i < 3; i++) {
			double before = n->rate(n, 0, running);

			running |= 1U << order[o][i];
			if (order[o][i] == c)
				sum += before - n->rate(n, 0, running);
		}
	}
	return sum / 6 / alone;
}

/* Co-runners that fight for the same thing: not exact, but close to the Shapley value. */
static void shares_are_near_the_shapley_value(void **state)
{
	double worst = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct node n = some_node(seed, saturating);
		struct attribution_share share[JOBS][RECORD_MAX_PARTNERS];
		double d[JOBS];
		int count[JOBS];

		n.cost[0][1] = 0.8;
		n.cost[0][2] = 0.4;
		run(&n, 1500, d, share, count);
		assert_int_equal(count[0], 3);
		for (int i = 0; i < 3; i++)
			worst = fmax(worst, fabs(share[0][i].degradation -
						    shapley(&n, (int)share[0][i].job_id - 100)));
	}
	print_message("saturated: farthest from the Shapley value %.4f\n", worst);
	assert_true(worst < 0.04);
}

/* Who was there half of the time costs half as much. */
static void time_together_counts(void **state)
{
	struct node n = some_node(7, independent);
	struct attribution a = {.count = 0};
	struct attribution_share share[RECORD_MAX_PARTNERS];

	(void)state;
	n.noise = n.outliers = 0;
	n.cost[0][1] = n.cost[0][2] = 0.2;
	n.cost[0][3] = 0;
	attribution_together(&a, 101, 1000, false);
	attribution_together(&a, 102, 500, false);
	attribution_together(&a, 102, 0, false);
	for (uint64_t i = 0; i < 40; i++)
		for (uint32_t c = 1; c < 3; c++) {
			struct est_block b = block_of(&n, 0, 0xf & ~(1U << c), i);

			assert_true(attribution_block(&a, 100 + c, &b));
		}
	assert_int_equal(attribution_shares(&a, 0.3, 1e-6, share), 2);
	assert_int_equal(share[0].job_id, 101);
	assert_float_equal(share[0].degradation, 0.2, 1e-3);
	assert_float_equal(share[1].degradation, 0.1, 1e-3);
	/* A loss below 0 is noise: it is nobody's. */
	assert_int_equal(attribution_shares(&a, -0.01, 1e-4, share), 2);
	assert_float_equal(share[0].degradation, 0, 0);
}

/* One after the other, as on a node with two lanes: each is to blame for what was lost beside it.
 */
static void one_after_the_other(void **state)
{
	static const double cost[] = {0.7, 0.05, 0};
	static const double seconds[] = {100, 300, 200};
	struct node n = some_node(11, independent);
	struct attribution a = {.count = 0};
	struct attribution_share share[RECORD_MAX_PARTNERS];
	double lost = 0, all = 0;

	(void)state;
	n.outliers = 0;
	for (uint32_t c = 1; c < JOBS; c++) {
		double s = seconds[c - 1];

		memset(n.cost[0], 0, sizeof(n.cost[0]));
		n.cost[0][c] = cost[c - 1];
		attribution_together(&a, 100 + c, (int64_t)s * 1000000000, true);
		for (uint64_t i = 0; i < 60; i++) {
			struct est_block b = block_of(&n, 0, 1, i);

			assert_true(attribution_block(&a, 100 + c, &b));
		}
		all += s;
		lost += s * cost[c - 1];
	}
	assert_int_equal(attribution_shares(&a, lost / all, 1e-6, share), 3);
	for (int i = 0; i < 3; i++) {
		assert_float_equal(share[i].together_ns, seconds[i] * 1e9, 1);
		assert_float_equal(share[i].degradation * all / seconds[i], cost[i], 0.03);
	}
}

/* Where nobody takes anything, that is known of each of them. */
static void hardly_any(void **state)
{
	struct node n = some_node(13, independent);
	struct attribution a = {.count = 0};
	struct attribution_share share[RECORD_MAX_PARTNERS];

	(void)state;
	memset(n.cost[0], 0, sizeof(n.cost[0]));
	n.outliers = 0;
	for (uint32_t c = 1; c < 3; c++) {
		attribution_together(&a, 100 + c, c * 1000, true);
		for (uint64_t i = 0; i < 100; i++) {
			struct est_block b = block_of(&n, 0, 1, i);

			attribution_block(&a, 100 + c, &b);
		}
	}
	assert_int_equal(attribution_shares(&a, 0.015, 1e-6, share), 2);
	assert_float_equal(share[0].degradation, 0.005, 0.01);
	assert_float_equal(share[1].degradation, 0.010, 0.01);
	/* A loss that the blocks of nobody show is nobody's. */
	for (int i = 0; i < 2; i++)
		a.pair[i].cost.mean = 0;
	assert_int_equal(attribution_shares(&a, 0.015, 1e-6, share), 2);
	assert_float_equal(share[0].degradation, 0.005, 1e-9);
	assert_float_equal(share[1].degradation, 0.010, 1e-9);
	assert_true(share[1].hi > 0.015);
	assert_int_equal(attribution_shares(&a, 0.2, 1e-6, share), 0);
}

static void what_is_not_known_is_not_told(void **state)
{
	struct node n = some_node(3, independent);
	struct attribution a = {.count = 0};
	struct attribution_share share[RECORD_MAX_PARTNERS];
	struct est_block b = block_of(&n, 0, 0xf & ~2U, 0), bad = b;

	(void)state;
	assert_int_equal(attribution_shares(&a, 0.3, 1e-6, share), 0);
	assert_false(attribution_block(&a, 101, &b)); /* nobody has named it */
	attribution_together(&a, 101, 1000, false);
	bad.after_n = 0;
	assert_false(attribution_block(&a, 101, &bad));
	for (int i = 0; i < 20; i++)
		assert_true(attribution_block(&a, 101, &b));
	/* One co-runner: the whole is its, and there is nothing to share out. */
	assert_int_equal(attribution_shares(&a, 0.3, 1e-6, share), 0);
	/* Of the other nothing is known, as where it has no counters. */
	attribution_together(&a, 102, 1000, false);
	assert_int_equal(attribution_shares(&a, 0.3, 1e-6, share), 0);
	/* A short visit does not matter. */
	attribution_together(&a, 101, 100000, false);
	assert_int_equal(attribution_shares(&a, 0.3, 1e-6, share), 1);
	assert_int_equal(attribution_shares(&a, NAN, 1e-6, share), 0);
	/* More than there is room for. */
	for (uint32_t i = 0; i < RECORD_MAX_PARTNERS + 5; i++)
		attribution_together(&a, 103 + i, 1000000, false);
	assert_int_equal(a.count, RECORD_MAX_PARTNERS);
	assert_true(a.untold_ns > 0);
	assert_int_equal(attribution_shares(&a, 0.3, 1e-6, share), 0);
}

static void checkpoints_are_exact(void **state)
{
	struct node n = some_node(5, independent);
	struct attribution a = {.count = 0}, back = {.count = 0};
	json_t *saved, *again;
	char *text;

	(void)state;
	for (uint32_t c = 1; c < JOBS; c++) {
		attribution_together(&a, 100 + c, 12345, false);
		for (int i = 0; i < 9; i++) {
			struct est_block b = block_of(&n, 0, 0xf & ~(1U << c), 0);

			attribution_block(&a, 100 + c, &b);
		}
	}
	a.untold_ns = 5;
	saved = attribution_save(&a);
	text = json_dumps(saved, 0);
	again = json_loads(text, 0, NULL);
	assert_int_equal(attribution_load(again, &back), 0);
	assert_memory_equal(&a, &back, sizeof(a));
	assert_int_equal(attribution_load(NULL, &back), -1);
	json_object_set_new(
		json_array_get(json_object_get(again, "pairs"), 0), "mean", json_string("much"));
	assert_int_equal(attribution_load(again, &back), -1);
	assert_memory_equal(&a, &back, sizeof(a));
	json_decref(saved);
	json_decref(again);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_the_pairwise_costs),
		cmocka_unit_test(shares_are_near_the_shapley_value),
		cmocka_unit_test(time_together_counts),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(hardly_any),
		cmocka_unit_test(what_is_not_known_is_not_told),
		cmocka_unit_test(checkpoints_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
