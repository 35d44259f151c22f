/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulated jobs that try to look slowed down: what shutters, shams and prices leave them. */
/*
 * Clock and counters are made up; the schedule, the estimator, the shams and the prices are the
 * real ones. Each cheat runs at a lower speed most of the time and at full speed when it believes
 * to be measured alone, so that its degradation reads too high. What it gains is the discount in
 * points of the price that Slurm counted, over that of an honest job with the same seeds and noise;
 * one that is caught has no discount at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "accounting/record/price.h"
#include "common/units.h"
#include "common/xorshift.h"
#include "poppa/measure/schedule.h"
#include "poppa/node/tally.h"

#define PERIOD (400 * NS_PER_MS)
#define REGION (3200 * NS_PER_US)
#define SLOT (PERIOD + 3 * REGION)
#define WINDOWS 4
#define BEYOND EST_BEYOND
#define START (INT64_C(1800000000) * NS_PER_S)
#define LOSS 0.1   /* what the co-runner really costs */
#define NOISE 0.03 /* of a window, but for where it varies */
#define HONEST_SEEDS 400
#define SEEDS 12
#define BINS 64 /* of a slot, in what the predictor learns */

/* A cheat: from..to is when it runs at full speed in the slot that is measured next. */
struct cheat {
	double spread;
	double less; /* of its speed, most of the time */
	/* Says where in the slot it runs at full speed, ns after the slot's beginning. */
	void (*guess)(
		struct cheat *c, const struct schedule_slot *slot, int64_t *from, int64_t *to);
	bool feels_stop; /* runs at full speed while the co-runner is stopped */
	bool feels_long; /* runs at full speed as soon as a block lasts longer than a usual one */
	int64_t long_gap_ns; /* between long blocks; 0 = there are none */
	int seen[BINS];      /* what the predictor knows: where blocks ran alone so far */
	int64_t phase;
};

static uint64_t state_of_noise;
static double noise = NOISE;
static struct price_policy solo, thesis;

static double uniform(void)
{
	return xorshift_share(&state_of_noise);
}

static double gauss(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

/* Mean speed over a stretch of a slot that is fast from..to and slow otherwise. */
static double speed(const struct cheat *c, int64_t start, int64_t end, int64_t from, int64_t to)
{
	int64_t a = start > from ? start : from, b = end < to ? end : to;
	double fast = b > a ? (double)(b - a) / (double)(end - start) : 0;

	return fast + (1 - fast) * (1 - c->less);
}

static struct est_block measure(struct cheat *c, const struct schedule_slot *slot)
{
	struct est_block b = {.start_ns = (uint64_t)(slot->opens_ns - START),
		.before_n = WINDOWS,
		.during_n = WINDOWS,
		.after_n = WINDOWS};
	struct est_window *region[] = {b.before, b.during, b.after};
	int64_t into = slot->opens_ns - (int64_t)slot->number * SLOT, from = 0, to = 0;

	if (c->guess)
		c->guess(c, slot, &from, &to);
	for (int w = 0; w < 3 * WINDOWS; w++) {
		bool alone = w / WINDOWS == 1 && slot->kind == SHUTTER_LONE;
		int64_t start = into + w * REGION / WINDOWS;
		double rate = alone ? 1 : 1 - LOSS;

		if (!c->feels_stop || !alone)
			rate *= speed(c, start, start + REGION / WINDOWS, from, to);
		region[w / WINDOWS][w % WINDOWS] =
			(struct est_window){rate * (1 + noise * gauss()) * REGION / WINDOWS, 0,
				(double)REGION / WINDOWS, 0};
	}
	c->seen[(into + REGION) * BINS / SLOT]++;
	if (!slot->is_long)
		return b;
	b.after_n = 0;
	b.beyond_n = BEYOND;
	for (int w = 0; w < BEYOND; w++) {
		double ns = est_beyond_ns(w, REGION),
		       rate = slot->kind == SHUTTER_LONE ? 1 : 1 - LOSS;

		rate *= c->feels_long ? 1 : 1 - c->less;
		b.beyond[w] = (struct est_window){rate * (1 + noise * gauss()) * ns, 0, ns, 0};
	}
	return b;
}

struct verdict {
	double degradation, sham;
	bool caught;
};

static struct schedule schedule_of(const struct cheat *c, uint64_t seed)
{
	return (struct schedule){.period_ns = PERIOD,
		.block_ns = 3 * REGION,
		.spread = c->spread,
		.sham_every = SCHEDULE_SHAM_EVERY,
		.jobs = 2,
		.job = {{.seed = {{seed, 1}},
				.measured = true,
				.long_gap_ns = c->long_gap_ns,
				.together_ns = START},
			{.seed = {{seed, 2}}, .measured = true}}};
}

static struct verdict run(struct cheat *c, uint64_t seed, int seconds)
{
	struct schedule s = schedule_of(c, seed);
	struct tally *t = tally_new(1, 0, 0, 0, 0, NULL);
	struct schedule_slot slot = {.opens_ns = START};
	struct est_result r;
	struct verdict v;
	double error;

	assert_non_null(t);
	state_of_noise = seed * 0x9e3779b97f4a7c15 | 1;
	memset(c->seen, 0, sizeof(c->seen));
	while (schedule_next(&s, slot.opens_ns, &slot) &&
		slot.opens_ns < START + seconds * NS_PER_S) {
		struct est_block b;

		if (slot.lone)
			continue;
		b = measure(c, &slot);
		if (slot.kind == SHUTTER_SHAM)
			tally_sham(t, &b);
		else
			tally_block(t, &b);
	}
	tally_result(t, ESTIMATE_ROBUST, 10, &r);
	v = (struct verdict){
		r.degradation, sham_degradation(&t->sham, &error), sham_caught(&t->sham)};
	tally_free(t);
	return v;
}

static double discount(const struct verdict *v)
{
	const uint64_t raw = 1000000;
	double d = v->caught ? NAN : v->degradation;

	return 100 - 100 * (double)price_charge(&thesis, raw, d, NAN, 0) / (double)raw;
}

/* Mean over the seeds of what it gains, points. */
static double gain(struct cheat *c, int seconds, int *caught)
{
	double sum = 0;

	*caught = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct cheat honest = {.spread = c->spread, .long_gap_ns = c->long_gap_ns};
		struct verdict h = run(&honest, seed, seconds), v = run(c, seed, seconds);

		assert_false(h.caught);
		*caught += v.caught;
		sum += discount(&v) - discount(&h);
	}
	return sum / SEEDS;
}

/* --- (a) one that learns when shutters come --- */

/* Full speed for the length of a region where blocks ran alone most often so far. */
static void most_often(
	struct cheat *c, const struct schedule_slot *slot, int64_t *from, int64_t *to)
{
	int best = 0;

	(void)slot;
	for (int i = 1; i < BINS; i++)
		if (c->seen[i] > c->seen[best])
			best = i;
	*from = best * SLOT / BINS;
	*to = *from + REGION + SLOT / BINS;
}

/* Full speed at the last moment at which a block that has not come yet can run alone, or at any
 * other distance from it. */
static void last_moment(
	struct cheat *c, const struct schedule_slot *slot, int64_t *from, int64_t *to)
{
	(void)slot;
	*from = (int64_t)(c->spread * PERIOD) + c->phase;
	*to = *from + REGION;
}

static void learning(void **state)
{
	static const double less[] = {0.1, 0.3, 0.5};
	double worst = -100, narrow;
	int caught;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct cheat often = {
			.spread = SCHEDULE_SPREAD, .less = less[i], .guess = most_often};
		double g = gain(&often, 300, &caught);

		worst = fmax(worst, g);
		print_message("learns, %.0f %% slower: gains %+.2f points\n", 100 * less[i], g);
		for (int n = -1; n <= 2; n++) {
			struct cheat last = {.spread = SCHEDULE_SPREAD,
				.less = less[i],
				.guess = last_moment,
				.phase = n * REGION};

			worst = fmax(worst, gain(&last, 300, &caught));
		}
	}
	print_message("with the jitter as it is: at most %+.2f points\n", worst);
	assert_true(worst < 1);
	/* The same cheat against a period of which a fiftieth is random: the test has teeth. */
	narrow = gain(
		&(struct cheat){.spread = 0.02, .less = 0.3, .guess = most_often}, 300, &caught);
	print_message("with a jitter of 1 %% up or down: %+.2f points\n", narrow);
	assert_true(narrow > 3);
}

/* --- (b) one that feels the daemon at work: as it begins, or takes its readings --- */

static void when_felt(struct cheat *c, const struct schedule_slot *slot, int64_t *from, int64_t *to)
{
	(void)c;
	*from = slot->opens_ns - (int64_t)slot->number * SLOT + REGION;
	*to = *from + REGION;
}

static void sensing(void **state)
{
	static const double less[] = {0.003, 0.006, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3};

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct cheat c = {.spread = SCHEDULE_SPREAD, .less = less[i], .guess = when_felt};
		int caught;
		double g = gain(&c, 30, &caught);

		/* A short run has few shams: what is not certain yet is taken off all the same. */
		print_message("feels it for 30 s, %.1f %% slower: gains %+.2f points\n",
			100 * less[i], g);
		assert_true(g < 1);
		g = gain(&c, 300, &caught);
		print_message("feels it, %.1f %% slower: caught %d of %d, gains %+.2f points\n",
			100 * less[i], caught, SEEDS, g);
		assert_true(g < 1);
		if (less[i] >= 0.1)
			assert_int_equal(caught, SEEDS);
		if (less[i] < 0.01)
			assert_int_equal(caught, 0);
	}
}

/* One that feels the daemon at work for longer than usual. A long block tells much, so the first
 * minutes count: until it is caught it must not gain more than it loses by being slower. */
static void sensing_long_blocks(void **state)
{
	static const double less[] = {0.05, 0.3};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct cheat c = {.spread = SCHEDULE_SPREAD,
			.less = less[i],
			.feels_long = true,
			.long_gap_ns = 200 * NS_PER_S};
		int caught;

		for (int seconds = 60; seconds <= 600; seconds *= 10) {
			double g = gain(&c, seconds, &caught);

			print_message("feels long ones for %d s, %.0f %% slower: caught %d of %d, "
				      "gains %+.2f points\n",
				seconds, 100 * less[i], caught, SEEDS, g);
			assert_true(g < (seconds > 60 ? 0.5 : 100 * less[i]));
		}
	}
}

/* What shams take off the degradation of jobs that do nothing of the kind: what is taken off is
 * what happens to be above 0, so it is a loss to them. A degradation counts about twice in a price.
 */
static void honest(void **state)
{
	static const double noises[] = {0.03, 0.05, 0.1};
	static const int lengths[] = {60, 300, 1800};

	(void)state;
	for (int i = 0; i < 9; i++) {
		int seconds = lengths[i % 3], caught = 0;
		double lost = 0;

		noise = noises[i / 3];
		for (uint64_t seed = 1; seed <= HONEST_SEEDS; seed++) {
			struct cheat c = {.spread = SCHEDULE_SPREAD};
			struct schedule s = schedule_of(&c, seed);
			struct schedule_slot slot = {.opens_ns = START};
			struct sham sham = {0};

			state_of_noise = seed * 0x9e3779b97f4a7c15 | 1;
			while (schedule_next(&s, slot.opens_ns, &slot) &&
				slot.opens_ns < START + seconds * NS_PER_S) {
				struct est_block b;

				if (slot.lone || slot.kind != SHUTTER_SHAM)
					continue;
				b = measure(&c, &slot);
				sham_add(&sham, &b);
			}
			lost += 100 * sham_excess(&sham) / HONEST_SEEDS;
			caught += sham_caught(&sham);
		}
		print_message("honest for %d s, %.0f %% noise: loses %.3f points of degradation\n",
			seconds, 100 * noise, lost);
		if (seconds >= 300)
			assert_true(lost < 0.05);
		assert_true(caught <= HONEST_SEEDS / 200);
	}
	noise = NOISE;
}

/* --- (c) one that sees its co-runner stand still, in /proc or in its own speed --- */

/*
 * No sham shows it, since nothing stands still in a sham. It has to run at the lower speed all the
 * time that it is not measured, and its user waits for that. The price of a solo run, which policy
 * solo charges, is then the same as if it had not tried; policy thesis pays for the delay as it
 * would for one that the co-runner caused: what it saves of the price is what it loses in speed.
 *
 * One whose progress is what it says itself need not even slow down: it leaves out beats. Then both
 * policies pay for time that was never lost.
 */
static void watching(void **state)
{
	static const double less[] = {0.05, 0.2, 0.5};
	const uint64_t work = 1000000; /* price of the job alone */

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct cheat c = {.spread = SCHEDULE_SPREAD, .less = less[i], .feels_stop = true};
		double by_solo = 0, by_thesis = 0, lie_solo = 0, lie_thesis = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct verdict v = run(&c, seed, 300);
			double slow = (1 - LOSS) * (1 - less[i]);
			uint64_t raw = (uint64_t)((double)work / slow);

			assert_false(v.caught);
			by_solo += (double)price_charge(&solo, raw, v.degradation, NAN, 0) / SEEDS;
			by_thesis +=
				(double)price_charge(&thesis, raw, v.degradation, NAN, 0) / SEEDS;
			raw = (uint64_t)((double)work / (1 - LOSS));
			lie_solo += (double)price_charge(&solo, raw, v.degradation, NAN, 0) / SEEDS;
			lie_thesis +=
				(double)price_charge(&thesis, raw, v.degradation, NAN, 0) / SEEDS;
		}
		lie_solo = 100 * (1 - lie_solo / (double)work);
		lie_thesis = 100 * (1 - lie_thesis / ((double)work * (1 - LOSS)));
		by_solo = 100 * (1 - by_solo / (double)work);
		by_thesis = 100 * (1 - by_thesis / ((double)work * (1 - LOSS)));
		print_message("sees the stop, %.0f %% slower: saves %+.2f %% by policy solo, %+.2f "
			      "%% by thesis\n",
			100 * less[i], by_solo, by_thesis);
		print_message("leaves out %.0f %% of its beats instead: saves %+.2f %% by policy "
			      "solo, %+.2f %% by thesis\n",
			100 * less[i], lie_solo, lie_thesis);
		assert_true(fabs(lie_solo - 100 * less[i]) < 1);
		assert_true(fabs(lie_thesis - 100 * (1 - pow(1 - less[i], 2))) < 1);
		assert_true(fabs(by_solo) < 1);
		assert_true(fabs(by_thesis - 100 * less[i]) < 1);
	}
}

static int setup(void **state)
{
	struct errmsg err;

	(void)state;
	return price_policy_parse("solo", &solo, &err) ||
	       price_policy_parse("thesis", &thesis, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learning),
		cmocka_unit_test(sensing),
		cmocka_unit_test(sensing_long_blocks),
		cmocka_unit_test(honest),
		cmocka_unit_test(watching),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
