/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/schedule.c: slots, turns, levels and what nodes agree on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "poppa/measure/schedule.h"

#define PERIOD (400 * NS_PER_MS)
#define BLOCK (9600 * NS_PER_US)
#define SLOT (PERIOD + BLOCK)
#define NOW (INT64_C(1800000000) * NS_PER_S)

static struct schedule make(int jobs, const uint64_t *seeds)
{
	struct schedule s = {.period_ns = PERIOD,
		.block_ns = BLOCK,
		.spread = SCHEDULE_SPREAD,
		.sham_every = SCHEDULE_SHAM_EVERY,
		.jobs = jobs};

	for (int i = 0; i < jobs; i++)
		s.job[i] = (struct schedule_job){.seed = {{seeds[i], 1}}, .measured = true};
	return s;
}

static int take(const struct schedule *s, int64_t from, struct schedule_slot *out, int max)
{
	int n = 0;

	for (int64_t t = from; n < max; t = out[n++].opens_ns)
		assert_true(schedule_next(s, t, &out[n]));
	return n;
}

static void hash(void **state)
{
	/* From the reference implementation: bytes 0 to 15 under the key of bytes 0 to 15. */
	const struct schedule_seed key = {
		{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

	(void)state;
	assert_true(schedule_hash(&key, key.word[0], key.word[1]) == UINT64_C(0x3f2acc7f57c29bdb));
}

static void rounds(void **state)
{
	const uint64_t seeds[] = {3, 1, 4, 15};
	struct schedule_slot slot[4000];

	(void)state;
	for (int jobs = 2; jobs <= 4; jobs++) {
		struct schedule s = make(jobs, seeds);
		int n = take(&s, NOW, slot, 4000), shams = 0, first = 0;

		while (slot[first].number % (uint64_t)jobs)
			first++;
		for (int i = first; i + jobs <= n; i += jobs) {
			int seen = 0;

			/* Every slot once, every job once a round. */
			for (int k = 0; k < jobs; k++) {
				assert_true(slot[i + k].number == slot[i].number + (uint64_t)k);
				seen |= 1 << slot[i + k].lone;
			}
			assert_int_equal(seen, (1 << jobs) - 1);
		}
		for (int i = 0; i < n; i++) {
			int64_t into = slot[i].opens_ns - (int64_t)slot[i].number * SLOT;

			assert_true(into >= 0 && into < PERIOD * 3 / 4);
			shams += slot[i].kind == SHUTTER_SHAM;
			if (i)
				assert_true(slot[i].opens_ns - slot[i - 1].opens_ns >=
					    BLOCK + schedule_min_gap(&s));
		}
		assert_true(abs(shams - n / SCHEDULE_SHAM_EVERY) < 80);
		assert_int_equal(schedule_interval(&s, 0), jobs * SLOT);
	}
}

/* Only where there is more than one co-runner to tell apart, and never instead of a sham. */
static void absences(void **state)
{
	const uint64_t seeds[] = {3, 1, 4, 15};
	struct schedule_slot slot[4000], plain[4000];

	(void)state;
	for (int jobs = 2; jobs <= 4; jobs++) {
		struct schedule s = make(jobs, seeds);
		int n, absent = 0, sum = 0, each[4] = {0};

		take(&s, NOW, plain, 4000);
		s.absent_every = SCHEDULE_ABSENT_EVERY;
		n = take(&s, NOW, slot, 4000);
		for (int i = 0; i < n; i++) {
			assert_true(slot[i].opens_ns == plain[i].opens_ns);
			assert_true(
				(slot[i].kind == SHUTTER_SHAM) == (plain[i].kind == SHUTTER_SHAM));
			absent += slot[i].kind == SHUTTER_ABSENT;
			each[slot[i].lone] += slot[i].kind == SHUTTER_ABSENT;
		}
		for (int i = 0; i < jobs; i++) {
			assert_true(each[i] * jobs > absent / 2 || jobs == 2);
			sum += each[i];
		}
		assert_int_equal(sum, absent);
		assert_true(fabs(absent - n * schedule_share(&s, SHUTTER_ABSENT)) < 120);
		assert_true((absent > 0) == (jobs > 2));
		assert_float_equal(schedule_share(&s, SHUTTER_LONE) +
					   schedule_share(&s, SHUTTER_SHAM) +
					   schedule_share(&s, SHUTTER_ABSENT),
			1, 1e-12);
	}
}

/* The long blocks of job 0, or its long shams, until `end`, counted from when the jobs came
 * together. */
static int take_long(
	const struct schedule *s, enum shutter_kind kind, int64_t end, int64_t *opens, int max)
{
	const int64_t since = s->job[0].together_ns;
	struct schedule_slot slot = {.opens_ns = since};
	int n = 0;

	while (schedule_next(s, slot.opens_ns, &slot) && slot.opens_ns < since + end) {
		assert_false(slot.is_long && slot.kind == SHUTTER_ABSENT);
		if (slot.is_long && slot.kind == kind && slot.lone == 0 && n < max)
			opens[n++] = slot.opens_ns - since;
	}
	return n;
}

#define GAP (200 * NS_PER_S)

/* The first ones come soon, the next ones ever more rarely, and then as rarely as is told. */
static void long_blocks(void **state)
{
	int64_t opens[200];
	int soon = 0, early = 0, late = 0, shams = 0, n;

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		const uint64_t seeds[] = {seed, seed + 1000};
		struct schedule s = make(2, seeds);
		int before = 0;

		s.job[0].together_ns = NOW + (int64_t)seed * 12345 * NS_PER_MS;
		assert_int_equal(take_long(&s, SHUTTER_LONE, 100 * NS_PER_S, opens, 200), 0);
		s.job[0].long_gap_ns = GAP;
		n = take_long(&s, SHUTTER_LONE, 20 * GAP, opens, 200);
		for (int i = 0; i < n; i++) {
			assert_true(opens[i] >= 2 * NS_PER_S);
			soon += opens[i] < 15 * NS_PER_S && !before++;
			early += opens[i] < GAP;
			late += opens[i] >= 4 * GAP;
		}
		shams += take_long(&s, SHUTTER_SHAM, 20 * GAP, opens, 200);
		s.job[0].long_gap_ns = 0;
		assert_int_equal(take_long(&s, SHUTTER_LONE, 20 * GAP, opens, 200), 0);
	}
	assert_true(soon >= 95);
	assert_in_range(early, 400, 900);
	/* One in GAP to 2 GAP. */
	assert_in_range(late, 100 * 16 / 2 - 100, 100 * 16);
	assert_in_range(shams, 0.75 * (early + 1.25 * late), early + 1.25 * late);
}

/* Also with fewer other blocks, and on nodes where the jobs registered a little later. */
static void nodes_agree_on_long_blocks(void **state)
{
	const uint64_t seeds[] = {8, 9};
	struct schedule a = make(2, seeds), b;
	int64_t opens_a[200], opens_b[200];
	int n, m, same = 0;

	(void)state;
	a.job[0].long_gap_ns = GAP;
	a.job[0].together_ns = NOW;
	b = a;
	b.job[0].level = b.job[1].level = 5;
	n = take_long(&a, SHUTTER_LONE, 20 * GAP, opens_a, 200);
	m = take_long(&b, SHUTTER_LONE, 20 * GAP, opens_b, 200);
	assert_true(n > 10);
	assert_int_equal(n, m);
	assert_memory_equal(opens_a, opens_b, (size_t)n * sizeof(*opens_a));
	b.job[0].together_ns += NS_PER_S;
	m = take_long(&b, SHUTTER_LONE, 20 * GAP, opens_b, 200);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < m; k++)
			same += opens_a[i] == opens_b[k] + NS_PER_S;
	assert_true(same >= n - 2 && m <= n + 2);
	/* One that takes four times as many takes all of these. */
	b = a;
	b.job[0].long_gap_ns = GAP / 4;
	m = take_long(&b, SHUTTER_LONE, 20 * GAP, opens_b, 200);
	same = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < m; k++)
			same += opens_a[i] == opens_b[k];
	assert_int_equal(same, n);
	assert_true(m > 2 * n);
}

static void nobody(void **state)
{
	const uint64_t seeds[] = {3, 1};
	struct schedule s = make(2, seeds);
	struct schedule_slot slot;

	(void)state;
	s.period_ns = 0;
	assert_false(schedule_next(&s, NOW, &slot));
	s = make(1, seeds);
	assert_false(schedule_next(&s, NOW, &slot));
	s = make(2, seeds);
	s.job[0].measured = s.job[1].measured = false;
	assert_false(schedule_next(&s, NOW, &slot));
	assert_int_equal(schedule_interval(&s, 0), 0);
	s.job[1].measured = true;
	for (int64_t i = 0; i < 10; i++) {
		assert_true(schedule_next(&s, NOW + i * SLOT, &slot));
		assert_int_equal(slot.lone, 1);
	}
}

/* Positions within the slot are as good as uniform, and one tells nothing of the next. */
static void jitter(void **state)
{
	const uint64_t seeds[] = {8, 9};
	struct schedule s = make(2, seeds);
	static struct schedule_slot slot[20000];
	int n = take(&s, NOW, slot, 20000), bin[10] = {0};
	double sum = 0, square = 0, lag = 0, last = 0;

	(void)state;
	for (int i = 0; i < n; i++) {
		double x = (double)(slot[i].opens_ns - (int64_t)slot[i].number * SLOT) /
			   (0.75 * PERIOD);

		bin[(int)(x * 10)]++;
		x -= 0.5;
		sum += x;
		square += x * x;
		lag += x * last;
		last = x;
	}
	for (int i = 0; i < 10; i++)
		assert_true(abs(bin[i] - n / 10) < 250);
	assert_true(fabs(sum / n) < 0.01);
	assert_true(fabs(square / n - 1.0 / 12) < 0.003);
	assert_true(fabs(lag / square) < 0.04);
}

static bool among(const struct schedule_slot *one, const struct schedule_slot *all, int n)
{
	for (int i = 0; i < n; i++)
		if (all[i].number == one->number)
			return all[i].opens_ns == one->opens_ns && all[i].lone == one->lone &&
			       all[i].kind == one->kind;
	return false;
}

/* A node at a higher level opens a subset of the shutters of one at a lower level: one in each
 * group of rounds. */
static void levels(void **state)
{
	const uint64_t seeds[] = {5, 6};
	static struct schedule_slot all[4096], some[2048];

	(void)state;
	for (int level = 1; level <= 5; level++) {
		struct schedule low = make(2, seeds), high = low;
		int64_t period = (int64_t)2 << level, start = NOW / (SLOT * period) * SLOT * period;
		int n = 4096 >> level, in_group[4096] = {0};

		low.job[0].level = low.job[1].level = level - 1;
		high.job[0].level = high.job[1].level = level;
		take(&low, start - 1, all, 4096 >> (level - 1));
		take(&high, start - 1, some, n);
		for (int i = 0; i < n; i++) {
			assert_true(among(&some[i], all, 4096 >> (level - 1)));
			in_group[(some[i].number - (uint64_t)(start / SLOT)) / (uint64_t)period]++;
		}
		for (int i = 0; i < n / 2; i++)
			assert_int_equal(in_group[i], 2);
		assert_int_equal(schedule_interval(&high, 0), 2 * SLOT << level);
	}
}

/* Each job has a level of its own. */
static void level_of_one(void **state)
{
	const uint64_t seeds[] = {5, 6};
	struct schedule s = make(2, seeds);
	static struct schedule_slot slot[900];
	int turns[2] = {0};

	(void)state;
	s.job[1].level = 3;
	take(&s, NOW, slot, 900);
	for (int i = 0; i < 900; i++)
		turns[slot[i].lone]++;
	assert_true(abs(turns[0] - 800) <= 4 && abs(turns[1] - 100) <= 4);
}

/* A job that has another partner on another node is alone on both at the same times, mostly. */
static void other_partners(void **state)
{
	const uint64_t here[] = {11, 12}, there[] = {11, 13};
	struct schedule a = make(2, here), b = make(2, there);
	static struct schedule_slot slot_a[3000], slot_b[3000];
	int same = 0, own = 0;

	(void)state;
	take(&a, NOW, slot_a, 3000);
	take(&b, NOW, slot_b, 3000);
	for (int i = 0; i < 3000; i++) {
		assert_true(slot_a[i].number == slot_b[i].number);
		if (slot_a[i].lone)
			continue;
		own++;
		if (slot_b[i].lone)
			continue;
		same++;
		assert_true(slot_a[i].opens_ns == slot_b[i].opens_ns);
	}
	assert_true((double)same / own > 0.6);
}

/* The order of the table and strangers' seeds do not matter; other seeds give other times. */
static void agreement(void **state)
{
	const uint64_t seeds[] = {21, 22, 23}, reversed[] = {23, 22, 21}, others[] = {24, 25, 26};
	struct schedule a = make(3, seeds), b = make(3, reversed), c = make(3, others);
	static struct schedule_slot slot_a[500], slot_b[500], slot_c[500];
	const struct schedule_seed secret = {{1, 2}};
	struct schedule_seed run = schedule_seed(&secret, 7, 0);
	struct schedule_seed next = schedule_seed(&secret, 7, 1);
	int equal = 0;

	(void)state;
	take(&a, NOW, slot_a, 500);
	take(&b, NOW, slot_b, 500);
	take(&c, NOW, slot_c, 500);
	for (int i = 0; i < 500; i++) {
		assert_true(slot_a[i].opens_ns == slot_b[i].opens_ns);
		assert_int_equal(slot_a[i].lone, 2 - slot_b[i].lone);
		equal += llabs(slot_a[i].opens_ns - slot_c[i].opens_ns) < NS_PER_MS;
	}
	assert_true(equal < 25);
	assert_memory_not_equal(&run, &next, sizeof(run));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash),
		cmocka_unit_test(rounds),
		cmocka_unit_test(absences),
		cmocka_unit_test(long_blocks),
		cmocka_unit_test(nodes_agree_on_long_blocks),
		cmocka_unit_test(nobody),
		cmocka_unit_test(jitter),
		cmocka_unit_test(levels),
		cmocka_unit_test(level_of_one),
		cmocka_unit_test(other_partners),
		cmocka_unit_test(agreement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
