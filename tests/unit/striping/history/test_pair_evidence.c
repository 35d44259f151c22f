/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of how what is known of a pair ages, and of how it follows a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "striping/history/pair_evidence.h"

#define DAY 86400LL
#define START 1700000000LL

/* So many runs of ten minutes from `now` on, `every` seconds apart, by turns a bit above and below
 * the mean. */
static long long learn_runs(
	struct pair_evidence *e, int runs, double mean, double off, long long now, long long every)
{
	for (int i = 0; i < runs; i++, now += every)
		pair_evidence_learn(e, mean + (i % 2 ? off : -off), 600, now);
	return now;
}

static void old_runs_weigh_less(void **state)
{
	struct pair_evidence e = {.runs = 0};

	(void)state;
	pair_evidence_learn(&e, 0.2, 600, START);
	assert_float_equal(pair_evidence_seconds(&e, START), 600, 1e-9);
	assert_float_equal(pair_evidence_seconds(&e, START + 30 * DAY), 300, 1e-9);
	assert_float_equal(pair_evidence_seconds(&e, START + 60 * DAY), 150, 1e-9);
	/* A clock that was set back makes nothing heavier. */
	assert_float_equal(pair_evidence_seconds(&e, START - DAY), 600, 1e-9);
	assert_true(pair_evidence_seconds(&e, START + 100000 * DAY) > 0);
	/* 300 s of the old run are left beside 600 s of the new one, and a half beside a whole. */
	pair_evidence_learn(&e, 0.26, 600, START + 30 * DAY);
	assert_float_equal(e.degradation, (0.2 * 300 + 0.26 * 600) / 900, 1e-9);
	assert_float_equal(e.seconds, 900, 1e-9);
	assert_float_equal(e.average, 0.23, 1e-9);
	assert_int_equal(e.runs, 2);
	/* After half a year it is the new one's alone. */
	pair_evidence_learn(&e, 0.6, 600, START + 210 * DAY);
	assert_true(e.degradation > 0.59 && e.average > 0.59);
	assert_int_equal(e.runs, 1);
}

/* How many runs count by how often they come: each day as many as are remembered, each month as
 * many as are just enough. */
static void frequent_runs_count_more(void **state)
{
	static const struct {
		int days, runs;
	} every[] = {{0, 20}, {1, 20}, {7, 11}, {30, 3}, {60, 2}};
	double low, high;

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct pair_evidence e = {.runs = 0};
		long long now = learn_runs(&e, 60, 0.3, 0.01, START, every[i].days * DAY);

		assert_int_equal(e.runs, every[i].runs);
		assert_int_equal(e.count, 60);
		assert_int_equal(pair_evidence_certain(&e, now, &low, &high), every[i].runs >= 3);
	}
}

static void what_is_certain_expires(void **state)
{
	struct pair_evidence e = {.runs = 0};
	double low, high;

	(void)state;
	learn_runs(&e, 20, 0.3, 0.01, START, 0);
	assert_true(pair_evidence_certain(&e, START + 90 * DAY, &low, &high));
	assert_true(low < 0.3 && low > 0.28 && high > 0.3 && high < 0.32);
	assert_false(pair_evidence_certain(&e, START + 90 * DAY + 1, &low, &high));
}

/* Runs that are too short to be one keep nothing certain. */
static void short_runs_renew_nothing(void **state)
{
	struct pair_evidence e = {.runs = 0};
	double low, high;

	(void)state;
	learn_runs(&e, 5, 0.6, 0.01, START, 60);
	assert_true(pair_evidence_certain(&e, START + 80 * DAY, &low, &high));
	for (int month = 1; month <= 12; month++)
		pair_evidence_learn(&e, 0.6, 5, START + month * 30 * DAY);
	assert_false(pair_evidence_certain(&e, START + 360 * DAY, &low, &high));
}

static void one_odd_run_moves_little(void **state)
{
	struct pair_evidence e = {.runs = 0};
	long long now = learn_runs(&e, 10, 0.3, 0.01, START, 60);

	(void)state;
	/* However long it was. */
	pair_evidence_learn(&e, 0.9, 36000, now);
	assert_float_equal(e.degradation, 0.3, 1e-6);
	assert_float_equal(e.average, 0.3, 1e-6);
	assert_int_equal(e.runs, 10);
	/* Seconds beside somebody tell nothing of it, and they are what moves the mean then. */
	pair_evidence_learn(&e, 0.9, 30, now + 1);
	assert_float_equal(e.degradation, (0.3 * 6000 + 0.9 * 30) / 6030, 1e-5);
	assert_true(e.odd_seconds > 0);
	/* The next one is as ever: the odd one counts as 4 standard deviations of 0.02 off. */
	pair_evidence_learn(&e, 0.3, 600, now + 60);
	assert_true(e.odd_seconds == 0);
	assert_int_equal(e.runs, 12);
	assert_float_equal(e.average, (10 * 0.3 + 0.38 + 0.3) / 12, 1e-4);
	assert_true(fabs(e.degradation - 0.31) < 0.005);
	assert_int_equal(e.count, 13);
}

static void two_odd_runs_are_a_change(void **state)
{
	struct pair_evidence e = {.runs = 0};
	long long now = learn_runs(&e, 20, 0.3, 0.01, START, 60);

	(void)state;
	pair_evidence_learn(&e, 0.5, 600, now);
	pair_evidence_learn(&e, 0.54, 1200, now + 60);
	assert_int_equal(e.runs, 2);
	assert_float_equal(e.average, 0.52, 1e-6);
	assert_float_equal(e.degradation, (0.5 * 600 + 0.54 * 1200) / 1800, 1e-5);
	assert_float_equal(e.seconds, 1800, 1);
	assert_int_equal(e.count, 22);
	assert_true(e.odd_seconds == 0);
}

/* Above and below is no change, but a pair that scatters. */
static void two_sides_are_no_change(void **state)
{
	struct pair_evidence e = {.runs = 0};
	long long now = learn_runs(&e, 20, 0.3, 0.01, START, 60);

	(void)state;
	for (int i = 0; i < 12; i++)
		pair_evidence_learn(&e, i % 2 ? 0.1 : 0.5, 600, now + i);
	assert_int_equal(e.runs, 20);
	assert_true(fabs(e.average - 0.3) < 0.05);
	/* So much scatters now that it is no longer odd. */
	assert_true(e.odd_seconds == 0 && sqrt(e.variance) > 0.05);
}

/* Of two runs nobody knows how much they scatter, and what is older than certain tells nothing. */
static void few_or_old_runs_tell_nothing(void **state)
{
	struct pair_evidence e = {.runs = 0};

	(void)state;
	learn_runs(&e, 2, 0.3, 0.01, START, 60);
	pair_evidence_learn(&e, 0.6, 600, START + 200);
	assert_int_equal(e.runs, 3);
	assert_true(e.odd_seconds == 0);
	e = (struct pair_evidence){.runs = 0};
	learn_runs(&e, 20, 0.3, 0.01, START, 0);
	pair_evidence_learn(&e, 0.6, 600, START + 120 * DAY);
	assert_true(e.odd_seconds == 0 && e.average > 0.55);
}

/* Lets a run tell of what it has shown until now. */
static bool tell(struct pair_evidence *e, double degradation, double seconds,
	struct pair_told *told, long long now)
{
	if (!pair_evidence_segment(e, degradation, seconds, told, now))
		return false;
	*told = (struct pair_told){seconds, degradation * seconds};
	return true;
}

static void assert_same(const struct pair_evidence *a, const struct pair_evidence *b)
{
	assert_float_equal(a->degradation, b->degradation, 1e-12);
	assert_float_equal(a->seconds, b->seconds, 1e-9);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->runs, b->runs);
	assert_float_equal(a->average, b->average, 1e-12);
	assert_float_equal(a->variance, b->variance, 1e-12);
	assert_true(a->last == b->last && a->last_run == b->last_run);
}

/* Whether a run tells meanwhile or not, after its price the pair is the same, and meanwhile its
 * mean is that of what was told. No time passes here, so nothing ages. */
static void segments_add_up_to_the_run(void **state)
{
	static const double d[] = {0.1, 0.4, 0.35, 0.2}, s[] = {60, 700, 760, 2000};

	(void)state;
	for (int before = 0; before <= 4; before += 2) {
		struct pair_evidence whole = {.runs = 0}, e;
		struct pair_told told = {.seconds = 0};
		double mean, weight;

		learn_runs(&whole, before, 0.3, 0.2, START, 0);
		e = whole;
		mean = e.degradation;
		weight = e.seconds;
		for (int i = 0; i < 4; i++) {
			bool tells = tell(&e, d[i], s[i], &told, START);

			assert_int_equal(tells, i != 2);
			if (tells) {
				assert_float_equal(e.degradation,
					(mean * weight + d[i] * s[i]) / (weight + s[i]), 1e-12);
				assert_float_equal(e.seconds, weight + s[i], 1e-9);
			}
			/* It is one observation, and no evidence. */
			assert_int_equal(e.count, before + 1);
			assert_int_equal(e.runs, before);
			assert_true(pair_evidence_valid(&e));
		}
		pair_evidence_learn_rest(&e, 0.25, 2100, &told, START);
		pair_evidence_learn(&whole, 0.25, 2100, START);
		assert_same(&e, &whole);
	}
}

/* A segment is a minute at least, and a tenth of what was told. */
static void segments_grow(void **state)
{
	struct pair_evidence e = {.runs = 0};
	struct pair_told told = {.seconds = 0};

	(void)state;
	assert_false(tell(&e, 0.3, 59, &told, START));
	assert_true(e.seconds == 0 && !e.count);
	assert_true(tell(&e, 0.3, 60, &told, START));
	assert_false(tell(&e, 0.3, 60, &told, START));
	assert_false(tell(&e, 0.3, 119, &told, START));
	assert_true(tell(&e, 0.3, 1000, &told, START));
	assert_false(tell(&e, 0.3, 1099, &told, START));
	assert_true(tell(&e, 0.3, 1100, &told, START));
	/* Less than it has told of: records were lost. */
	assert_false(tell(&e, 0.3, 100, &told, START));
	assert_float_equal(e.seconds, 1100, 1e-9);
	pair_evidence_learn_rest(&e, 0.2, 100, &told, START);
	assert_true(e.degradation >= 0.2 && e.degradation <= 0.3);
	assert_float_equal(e.seconds, 1100, 1e-9);
	assert_int_equal(e.runs, 1);
}

/* What is odd waits for the price, and so does what cannot be. */
static void odd_segments_wait(void **state)
{
	struct pair_evidence e = {.runs = 0}, before;
	struct pair_told told = {.seconds = 0};

	(void)state;
	learn_runs(&e, 4, 0.3, 0.02, START, 0);
	before = e;
	assert_false(tell(&e, 0.9, 600, &told, START));
	assert_memory_equal(&e, &before, sizeof(e));
	assert_true(tell(&e, 0.32, 600, &told, START));
	/* By itself the last minute is 0.9, though both are 0.37. */
	assert_false(tell(&e, (0.32 * 600 + 0.9 * 60) / 660, 660, &told, START));
	/* More than all of a minute was lost. */
	e = (struct pair_evidence){.runs = 0};
	told = (struct pair_told){600, 0.3 * 600};
	before = e;
	assert_false(tell(&e, 0.45, 660, &told, START));
	assert_false(tell(&e, 0.15, 660, &told, START));
	assert_false(tell(&e, NAN, 660, &told, START));
	assert_memory_equal(&e, &before, sizeof(e));
}

/* An odd run is kept aside for what it has not told; two of them replace all. */
static void odd_runs_have_told(void **state)
{
	struct pair_evidence e = {.runs = 0};
	struct pair_told told = {.seconds = 0}, none = told;
	double weight;

	(void)state;
	learn_runs(&e, 4, 0.3, 0.02, START, 0);
	assert_true(tell(&e, 0.3, 600, &told, START));
	weight = e.seconds;
	pair_evidence_learn_rest(&e, 0.7, 3000, &told, START);
	assert_float_equal(e.seconds, weight, 1e-9);
	assert_float_equal(e.odd, 0.7, 1e-12);
	assert_float_equal(e.odd_seconds, 2400, 1e-9);
	assert_int_equal(e.count, 5);
	assert_true(pair_evidence_valid(&e));
	told = (struct pair_told){100, 30};
	pair_evidence_learn_rest(&e, 0.7, 600, &told, START);
	assert_float_equal(e.degradation, 0.7, 1e-12);
	assert_float_equal(e.seconds, 3000, 1e-9);
	assert_int_equal(e.runs, 2);
	/* Told of nearly all: what is kept aside is a minute at least. */
	e = (struct pair_evidence){.runs = 0};
	learn_runs(&e, 4, 0.3, 0.02, START, 0);
	told = (struct pair_told){595, 0.3 * 595};
	pair_evidence_learn_rest(&e, 0.7, 600, &told, START);
	assert_true(pair_evidence_valid(&e));
	assert_float_equal(e.odd_seconds, 60, 1e-9);
	pair_evidence_learn_rest(&e, 0.3, 600, &none, START);
	assert_true(e.degradation < 0.35);
}

/* A run of days weighs as much as the mean may, and brings it to what it says at its end. */
static void long_runs_tell(void **state)
{
	struct pair_evidence e = {.runs = 0};
	struct pair_told told = {.seconds = 0};
	long long now = START;
	double d = 0;

	(void)state;
	learn_runs(&e, 2, 0.1, 0.02, START, 0);
	for (double s = 60; s < 10 * 86400; s = s * 1.2 + 60, now = START + (long long)s) {
		d = 0.5 - 30 / s;
		assert_true(tell(&e, d, s, &told, now));
		assert_true(e.seconds <= PAIR_EVIDENCE_MEMORY_S * (1 + 1e-9));
		assert_true(pair_evidence_valid(&e));
	}
	assert_true(e.degradation > 0.45 && e.degradation < 0.55);
	pair_evidence_learn_rest(&e, 0.4, told.seconds + 10, &told, now);
	assert_true(e.degradation > 0.35 && e.degradation < 0.45);
	assert_int_equal(e.runs, 3);
	assert_int_equal(e.count, 3);
}

/* By the file: what is no number or out of range was not learned. */
static void what_can_be(void **state)
{
	const struct pair_evidence good = {.degradation = 0.3,
		.seconds = 600,
		.count = 3,
		.runs = 3,
		.average = 0.3,
		.variance = 0.1,
		.odd = 0.5,
		.odd_seconds = 600};
	struct pair_evidence e = good;

	(void)state;
	assert_true(pair_evidence_valid(&e));
	e.odd_seconds = NAN;
	assert_false(pair_evidence_valid(&e));
	e = good;
	e.runs = 2;
	assert_false(pair_evidence_valid(&e));
	e.odd_seconds = 0;
	assert_true(pair_evidence_valid(&e));
	e.runs = PAIR_EVIDENCE_RUNS + 1;
	assert_false(pair_evidence_valid(&e));
	e = good;
	e.degradation = NAN;
	assert_false(pair_evidence_valid(&e));
	e = good;
	e.seconds = 0;
	assert_false(pair_evidence_valid(&e));
}

/* A trial weighs as a measurement, is no run, and keeps to what there is room for. */
static void trials_are_no_runs(void **state)
{
	struct pair_evidence e = {.runs = 0}, before;
	double low, high;

	(void)state;
	assert_float_equal(pair_evidence_trial(&e, 0.2, 300, START), 300, 1e-9);
	assert_float_equal(e.degradation, 0.2, 1e-9);
	assert_true(pair_evidence_valid(&e));
	assert_int_equal(e.runs, 0);
	for (int i = 0; i < 5; i++)
		pair_evidence_trial(&e, 0.2, 300, START);
	assert_false(pair_evidence_certain(&e, START, &low, &high));
	/* No runs are pushed out by it, nor is it there beside ten hours of them. */
	e = (struct pair_evidence){.runs = 0};
	learn_runs(&e, 4, 0.3, 0.01, START, 0);
	before = e;
	pair_evidence_trial(&e, 0.31, 300, START);
	assert_int_equal(e.runs, before.runs);
	assert_float_equal(e.average, before.average, 1e-12);
	assert_true(e.degradation > before.degradation && e.degradation < 0.31);
	pair_evidence_learn(&e, 0.3, 36000, START + 1);
	before = e;
	assert_true(pair_evidence_trial(&e, 0.31, 300, START) == 0);
	assert_memory_equal(&e, &before, sizeof(e));
	/* Four runs say otherwise. */
	assert_true(pair_evidence_trial(&e, 0.6, 300, START + 2) == 0);
	assert_memory_equal(&e, &before, sizeof(e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_runs_weigh_less),
		cmocka_unit_test(frequent_runs_count_more),
		cmocka_unit_test(what_is_certain_expires),
		cmocka_unit_test(short_runs_renew_nothing),
		cmocka_unit_test(one_odd_run_moves_little),
		cmocka_unit_test(two_odd_runs_are_a_change),
		cmocka_unit_test(two_sides_are_no_change),
		cmocka_unit_test(few_or_old_runs_tell_nothing),
		cmocka_unit_test(segments_add_up_to_the_run),
		cmocka_unit_test(segments_grow),
		cmocka_unit_test(odd_segments_wait),
		cmocka_unit_test(odd_runs_have_told),
		cmocka_unit_test(long_runs_tell),
		cmocka_unit_test(what_can_be),
		cmocka_unit_test(trials_are_no_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
