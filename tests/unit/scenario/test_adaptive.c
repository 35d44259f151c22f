/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulated pairs under the default settings: cost, blocks of short jobs, and truth at any rate. */
/*
 * Clock and counters are made up; the schedule, the pace, the estimator and the settings are the
 * real ones, put together as poppad does it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "common/units.h"
#include "common/xorshift.h"
#include "poppa/measure/pace.h"
#include "poppa/measure/schedule.h"
#include "poppa/node/tally.h"

#define JOBS 2
#define START (INT64_C(1800000000) * NS_PER_S)
#define SEEDS 10

struct pair {
	double noise;   /* of a window */
	double loss[2]; /* degradation in the first and the second phase */
	double rate[2]; /* speed alone */
	int phase_s[2]; /* how long each lasts; the second 0: there is only one */
	bool adaptive;
};

struct outcome {
	double degradation, truth, half;
	uint64_t blocks;
	double held;         /* share of the time */
	double held_settled; /* the same of what came after two minutes */
	int highest;         /* level that was reached */
};

static uint64_t noise_state;

static double gauss(void)
{
	double u[2];

	for (int i = 0; i < 2; i++) {
		u[i] = xorshift_share(&noise_state);
	}
	return sqrt(-2 * log(1 - u[0])) * cos(2 * M_PI * u[1]);
}

static int phase_at(const struct pair *p, double s)
{
	if (!p->phase_s[1])
		return 0;
	return fmod(s, p->phase_s[0] + p->phase_s[1]) >= p->phase_s[0];
}

static struct est_block block(
	const struct pair *p, const struct schedule_slot *slot, int windows, int64_t region_ns)
{
	struct est_block b = {.start_ns = (uint64_t)(slot->opens_ns - START),
		.before_n = windows,
		.during_n = windows,
		.after_n = windows};
	struct est_window *region[] = {b.before, b.during, b.after};
	double dur = (double)region_ns / windows;

	for (int w = 0; w < 3 * windows; w++) {
		int phase = phase_at(p, (double)(slot->opens_ns - START + w * (int64_t)dur) / 1e9);
		bool alone = w / windows == 1 && slot->kind == SHUTTER_LONE;
		double rate = p->rate[phase] * (alone ? 1 : 1 - p->loss[phase]);

		region[w / windows][w % windows] =
			(struct est_window){rate * (1 + p->noise * gauss()) * dur, 0, dur, 0};
	}
	return b;
}

/* Both jobs of the pair are alike; the outcome is that of the first. */
static struct outcome run(const struct pair *p, uint64_t seed, int seconds)
{
	struct schedule_slot slot = {.opens_ns = START};
	struct outcome out = {.truth = 0};
	struct poppa_settings set;
	struct schedule s = {.spread = SCHEDULE_SPREAD,
		.sham_every = SCHEDULE_SHAM_EVERY,
		.jobs = JOBS,
		.job = {{.seed = {{seed, 1}}, .measured = true},
			{.seed = {{seed, 2}}, .measured = true}}};
	struct pace pace[JOBS] = {{0}};
	struct tally *tally[JOBS];
	double lost = 0, held = 0, settled = 0;
	struct est_result r;

	settings_defaults(&set);
	s.period_ns = set.period_ns;
	s.block_ns = 3 * set.shutter_ns;
	noise_state = seed * 0x9e3779b97f4a7c15 | 1;
	for (int i = 0; i < JOBS; i++)
		tally[i] = tally_new(1 + (uint32_t)i, 0, 0, 0, 0, NULL);
	while (schedule_next(&s, slot.opens_ns, &slot) &&
		slot.opens_ns < START + seconds * NS_PER_S) {
		struct est_block b = block(p, &slot, set.windows, set.shutter_ns);
		struct tally *t = tally[slot.lone];
		int level;

		if (slot.kind == SHUTTER_SHAM) {
			tally_sham(t, &b);
			continue;
		}
		held += (double)set.shutter_ns * (JOBS - 1) / JOBS;
		if (slot.opens_ns >= START + 120 * NS_PER_S)
			settled += (double)set.shutter_ns * (JOBS - 1) / JOBS;
		tally_block(t, &b);
		tally_result(t, set.method, set.min_blocks, &r);
		pace_add(&pace[slot.lone], &b, (r.hi - r.lo) / 2, r.used,
			2 * (uint64_t)set.min_blocks);
		level = p->adaptive ? pace_level(&pace[slot.lone]) : 0;
		if (level > out.highest)
			out.highest = level;
		s.job[slot.lone].level = level;
	}
	for (int i = 0; i < 10 * seconds; i++)
		lost += p->loss[phase_at(p, (i + 0.5) / 10)] / (10 * seconds);
	tally_result(tally[0], set.method, set.min_blocks, &r);
	out.truth = lost;
	out.degradation = r.degradation;
	out.half = (r.hi - r.lo) / 2;
	out.blocks = r.blocks;
	out.held = held / ((double)seconds * 1e9);
	out.held_settled = seconds > 120 ? settled / ((double)(seconds - 120) * 1e9) : 0;
	for (int i = 0; i < JOBS; i++)
		tally_free(tally[i]);
	return out;
}

static const struct pair contended = {
	.noise = 0.04, .loss = {0.35}, .rate = {1}, .phase_s = {1}, .adaptive = true};
static const struct pair innocent = {
	.noise = 0.04, .loss = {0}, .rate = {1}, .phase_s = {1}, .adaptive = true};

static void converged_pairs_are_cheap(void **state)
{
	const struct pair *pair[] = {&contended, &innocent};

	(void)state;
	for (int n = 0; n < 2; n++) {
		struct pair steady = *pair[n];
		double most = 0, error = 0, steady_error = 0;

		steady.adaptive = false;
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct outcome o = run(pair[n], seed, 600), all = run(&steady, seed, 600);

			most = fmax(most, o.held_settled);
			error += fabs(o.degradation - o.truth) / SEEDS;
			steady_error += fabs(all.degradation - all.truth) / SEEDS;
			assert_true(all.held > 0.003);
			assert_true(o.highest >= 2);
		}
		print_message("D = %.2f: held %.3f %% at most after two minutes; error %.4f, with "
			      "all blocks %.4f\n",
			pair[n]->loss[0], 100 * most, error, steady_error);
		assert_true(most <= 0.003);
		assert_true(error < 0.004);
	}
}

static void short_jobs_get_enough(void **state)
{
	double worst = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct outcome o = run(&contended, seed, 30);

		worst = fmax(worst, fabs(o.degradation - o.truth));
		assert_true(o.blocks >= 2 * 10);
		assert_true(isfinite(o.degradation));
		assert_true(fabs(o.degradation - o.truth) < 0.08);
	}
	print_message("after 30 s: error %.4f at most\n", worst);
}

/* Where what a job loses changes, blocks get more frequent just then: that must not count. */
static void the_rate_does_not_count(void **state)
{
	static const struct pair changing[] = {
		/* Two phases that take turns, one of which is faster and loses more. */
		{.noise = 0.04,
			.loss = {0.1, 0.5},
			.rate = {1, 2},
			.phase_s = {60, 60},
			.adaptive = true},
		/* A long quiet time with an interlude. */
		{.noise = 0.04,
			.loss = {0.05, 0.6},
			.rate = {1, 1},
			.phase_s = {400, 40},
			.adaptive = true},
	};

	(void)state;
	for (int n = 0; n < 2; n++) {
		double bias = 0, error = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct outcome o = run(&changing[n], seed, 880);

			bias += (o.degradation - o.truth) / SEEDS;
			error += fabs(o.degradation - o.truth) / SEEDS;
		}
		print_message("changing pair %d: bias %+.4f, error %.4f\n", n, bias, error);
		assert_true(fabs(bias) < 0.005);
		assert_true(error < 0.01);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(converged_pairs_are_cheap),
		cmocka_unit_test(short_jobs_get_enough),
		cmocka_unit_test(the_rate_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
