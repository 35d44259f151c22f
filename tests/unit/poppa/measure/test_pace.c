/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/pace.c, budget.c and sham.c: how often, how dear, and how honest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "common/units.h"
#include "poppa/estimate/blockrate.h"
#include "poppa/measure/budget.h"
#include "poppa/measure/overhead.h"
#include "poppa/measure/pace.h"
#include "poppa/estimate/sham.h"

static uint64_t random_state = 88172645463325252u;

static double noise(double sd)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		random_state ^= random_state << 13;
		random_state ^= random_state >> 7;
		random_state ^= random_state << 17;
		sum += (double)(random_state >> 11) / 9007199254740992.0;
	}
	return sd * (sum - 6);
}

static struct est_block block(double co, double solo, double sd)
{
	struct est_block b = {.before_n = 4, .during_n = 4, .after_n = 4};

	for (int k = 0; k < 4; k++) {
		b.before[k] = (struct est_window){co * 800e3 * (1 + noise(sd)), 0, 800e3, 0};
		b.during[k] = (struct est_window){solo * 800e3 * (1 + noise(sd)), 0, 800e3, 0};
		b.after[k] = (struct est_window){co * 800e3 * (1 + noise(sd)), 0, 800e3, 0};
	}
	return b;
}

static void rates(void **state)
{
	struct est_block b = block(2, 3, 0);
	double co, solo;

	(void)state;
	assert_true(blockrate(&b, &co, &solo));
	assert_float_equal(co, 2, 1e-9);
	assert_float_equal(solo, 3, 1e-9);
	/* The daemon's own window, a wild one and a lost one change nothing. */
	b.before[0].progress = 0;
	b.after[1].progress *= 100;
	b.during[2].progress = NAN;
	assert_true(blockrate(&b, &co, &solo));
	assert_float_equal(co, 2, 1e-9);
	assert_float_equal(solo, 3, 1e-9);
	/* By cycles where all have them. */
	for (int k = 0; k < 4; k++)
		b.before[k].cycles = b.during[k].cycles = b.after[k].cycles = 400e3;
	assert_true(blockrate(&b, &co, &solo));
	assert_float_equal(solo, 6, 1e-9);
	b.during_n = 0;
	assert_false(blockrate(&b, &co, &solo));
}

static void tight_is_slow(void **state)
{
	struct pace p = {0};
	struct est_block b;
	int at[4] = {-1, -1, -1, -1};

	(void)state;
	for (int i = 0; i < 500; i++) {
		b = block(0.7, 1, 0.03);
		assert_false(pace_add(&p, &b, i > 2 ? 0.1 / sqrt(i) : NAN, (uint64_t)i, 20));
		assert_in_range(pace_level(&p), 0, PACE_MAX_LEVEL);
		/* Short runs get all the blocks that there are. */
		if (i < 20)
			assert_int_equal(pace_level(&p), 0);
		if (at[pace_level(&p)] < 0)
			at[pace_level(&p)] = i;
	}
	assert_true(at[1] >= 25 && at[1] < 30 && at[2] > at[1] && at[3] > at[2]);
	assert_int_equal(pace_level(&p), PACE_MAX_LEVEL);
	/* A result that is no more leads back at once, a wide interval step by step. */
	for (int level = 2; level >= 0; level--) {
		b = block(0.7, 1, 0.03);
		pace_add(&p, &b, 0.1, 400, 20);
		assert_int_equal(p.level, level);
	}
	p.level = PACE_MAX_LEVEL;
	pace_add(&p, &b, NAN, 400, 20);
	assert_int_equal(p.level, 0);
}

static struct pace settled(double co, double solo)
{
	struct pace p = {0};

	for (int i = 0; i < 40; i++) {
		struct est_block b = block(co, solo, 0.03);

		assert_false(pace_add(&p, &b, 0.001, 100, 20));
	}
	assert_int_equal(pace_level(&p), PACE_MAX_LEVEL);
	return p;
}

static void changes_are_watched(void **state)
{
	/* The rate of the job, or what its co-runner costs it. */
	static const double after[][2] = {{0.35, 0.5}, {0.4, 1}, {1.4, 2}, {0.95, 1}};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct pace p = settled(0.7, 1);
		struct est_block b = block(after[i][0], after[i][1], 0.03);
		int blocks = 0;

		assert_false(pace_add(&p, &b, 0.001, 100, 20));
		assert_true(pace_level(&p) < PACE_MAX_LEVEL);
		b = block(after[i][0], after[i][1], 0.03);
		assert_true(pace_add(&p, &b, 0.001, 100, 20));
		while (pace_level(&p) < PACE_MAX_LEVEL && blocks < 100) {
			b = block(after[i][0], after[i][1], 0.03);
			assert_false(pace_add(&p, &b, 0.001, 100, 20));
			blocks++;
		}
		assert_in_range(blocks, 5, 20);
	}
}

/* One wild block is no phase. */
static void outliers_are_not(void **state)
{
	struct pace p = settled(0.7, 1);

	(void)state;
	for (int i = 0; i < 30; i++) {
		struct est_block b = i % 5 ? block(0.7, 1, 0.03) : block(0.2, 3, 0.03);

		assert_false(pace_add(&p, &b, 0.001, 100, 20));
	}
}

static void period_by_model(void **state)
{
	const int64_t s = 3200 * NS_PER_US;
	struct overhead model;
	struct errmsg err;

	(void)state;
	assert_int_equal(budget_period(2, s, 400 * NS_PER_MS, 0.005), 400 * NS_PER_MS);
	assert_int_equal(budget_period(2, s, 50 * NS_PER_MS, 0), 50 * NS_PER_MS);
	assert_int_equal(budget_period(2, s, 0, 0.005), 0);
	for (int jobs = 2; jobs <= 16; jobs++) {
		int64_t p = budget_period(jobs, s, 50 * NS_PER_MS, 0.005);

		assert_true(p > 50 * NS_PER_MS);
		assert_int_equal(overhead_model(jobs, s, p, &model, &err), 0);
		assert_true(model.paused_fraction <= 0.005 && model.paused_fraction > 0.0049);
	}
}

static void budget_by_measurement(void **state)
{
	struct budget_spent spent = {.cores = 4};
	double share[] = {0.009, 0.009, 0.0045, 0.0053, 0.0045, 0.001, 0.001, 0.001};
	int want[] = {0, 1, 2, 2, 2, 2, 1, 0}, changes = 0;
	struct budget b;

	(void)state;
	budget_init(&b);
	assert_true(isnan(b.held));
	/* Once a second; windows are longer. What a window held shows at its end. */
	for (int s = 0; s <= 8 * BUDGET_WINDOW_S; s++) {
		int window = s ? (s - 1) / BUDGET_WINDOW_S : 0;

		if (s) {
			spent.now_ns += NS_PER_S;
			spent.co_ns += 2 * NS_PER_S;
			spent.held_ns += (int64_t)(2 * NS_PER_S * share[window]);
			spent.cpu_ns += (int64_t)(4 * NS_PER_S * share[window] / 2);
		}
		assert_int_equal(b.level, want[window]);
		changes += budget_look(&b, &spent, 0.005);
	}
	assert_int_equal(changes, 4);
	assert_float_equal(b.held, 0.001, 1e-6);
	assert_float_equal(b.cpu, 0.0005, 1e-6);
	assert_int_equal(b.level, 0);
	/* The daemon's CPU time counts by itself. */
	for (int i = 0; i < BUDGET_WINDOW_S; i++) {
		spent.now_ns += NS_PER_S;
		spent.co_ns += NS_PER_S;
		spent.cpu_ns += 4 * NS_PER_S / 100;
		changes += budget_look(&b, &spent, 0.005);
	}
	assert_int_equal(changes, 5);
	assert_int_equal(b.level, 1);
	/* Without co-located time nothing is learnt; without a cap there is no level. */
	spent.now_ns += 100 * NS_PER_S;
	spent.cpu_ns += 100 * NS_PER_S;
	assert_false(budget_look(&b, &spent, 0.005));
	b.level = 3;
	for (int i = 0; i <= BUDGET_WINDOW_S; i++) {
		spent.now_ns += NS_PER_S;
		spent.co_ns += NS_PER_S;
		spent.held_ns += NS_PER_S / 2;
		budget_look(&b, &spent, 0);
	}
	assert_int_equal(b.level, 0);
}

/* Honest jobs are not accused, however noisy: 2,000 of them, looked at once each. */
static void honest(void **state)
{
	int accused = 0, docked = 0;
	double taken = 0;

	(void)state;
	for (int job = 0; job < 2000; job++) {
		struct sham s = {0};
		double sd = 0.02 + 0.08 * (job % 5) / 4;

		for (int i = 0; i < 12 + job % 60; i++) {
			struct est_block b = block(1, 1, sd);

			sham_add(&s, &b);
		}
		accused += sham_caught(&s);
		docked += sham_excess(&s) > 0;
		taken += sham_excess(&s) / 2000;
	}
	assert_true(accused <= 4);
	assert_true(docked < 2000 * 9 / 100);
	assert_true(taken < 0.0015);
}

static void dishonest(void **state)
{
	struct sham s = {0}, back;
	double error;
	json_t *json;

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct est_block b = block(0.93, 1, 0.05);

		sham_add(&s, &b);
		if (i < 11)
			assert_false(sham_caught(&s));
	}
	assert_true(sham_caught(&s));
	assert_true(fabs(sham_degradation(&s, &error) - 0.07) < 4 * error);
	json = sham_save(&s);
	assert_int_equal(sham_load(&back, json), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	json_object_set_new(json, "m2", json_real(-1));
	assert_int_equal(sham_load(&back, json), -1);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates),
		cmocka_unit_test(tight_is_slow),
		cmocka_unit_test(changes_are_watched),
		cmocka_unit_test(outliers_are_not),
		cmocka_unit_test(period_by_model),
		cmocka_unit_test(budget_by_measurement),
		cmocka_unit_test(honest),
		cmocka_unit_test(dishonest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
