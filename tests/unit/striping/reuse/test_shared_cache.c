/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what programs lose by sharing a cache. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/reuse/forecast.h"
#include "striping/reuse/shared_cache.h"
#include "unit/striping/reuse/histograms.h"

#define PROGRAMS 12

static const struct shared_cache cache = {16384, 120};
static const struct forecast_machine machine = {.levels = 1, .level = {{16384, 120}}};

/* What forecast_group() finds, which asks the histograms again and again. */
static double exact(const struct reuse_histogram *const *h, int count)
{
	struct miss_rate_member together[REUSE_GROUP_MAX], alone = {.h = h[0]};

	for (int i = 0; i < count; i++)
		together[i] = (struct miss_rate_member){.h = h[i]};
	forecast_group(&machine, &alone, 1, MISS_COMB, NULL);
	forecast_group(&machine, together, count, MISS_COMB, NULL);
	return log(alone.rate / together[0].rate);
}

/* A program with near references and some that are so far apart, of a million. */
static struct reuse_histogram mixed(double share, double distance, double cold, double rate)
{
	struct reuse_histogram h = {
		.references = 1e6, .instructions = 1e6 / rate, .cold = 1e6 * cold};

	h.bucket[0] = (struct reuse_bucket){1e6 * (1 - share - cold), 8};
	h.bucket[reuse_bucket_of((uint64_t)distance)] =
		(struct reuse_bucket){1e6 * share, distance};
	return h;
}

static void make(struct reuse_histogram h[PROGRAMS], struct cache_curve curve[PROGRAMS])
{
	for (int i = 0; i < PROGRAMS; i++) {
		h[i] = mixed(0.05 + 0.1 * (i % 4), 3000 * pow(3.1, i % 7), i % 3 ? 1e-4 : 2e-3,
			0.2 + 0.03 * (i % 5));
		assert_true(cache_curve_make(&curve[i], &cache, &h[i], NULL));
	}
}

/* Curves tell what the histograms do, of pairs and of groups. */
static void as_the_model(void **state)
{
	static struct reuse_histogram h[PROGRAMS];
	static struct cache_curve curve[PROGRAMS];
	double most = 0;

	(void)state;
	make(h, curve);
	for (int i = 0; i < PROGRAMS; i++)
		for (int count = 1; count <= 6; count++) {
			const struct reuse_histogram *all[7] = {&h[i]};
			const struct cache_curve *others[6];
			double y, want;

			for (int k = 0; k < count; k++) {
				int other = (i + 1 + k * k) % PROGRAMS;

				others[k] = &curve[other];
				all[k + 1] = &h[other];
			}
			y = shared_cache_forecast(&curve[i], others, count);
			want = exact(all, count + 1);
			most = fmax(most, want);
			assert_true(fabs(y - want) < 0.01);
		}
	/* Else the test has seen no contention. */
	assert_true(most > 0.5);
}

static void alone_and_harmless(void **state)
{
	struct reuse_histogram mem = mixed(0.3, 60000, 1e-3, 0.3), calm = mixed(0, 100, 0, 0.3);
	struct cache_curve one, other;
	const struct cache_curve *beside = &other;

	(void)state;
	assert_true(cache_curve_make(&one, &cache, &mem, NULL));
	assert_true(cache_curve_make(&other, &cache, &calm, NULL));
	assert_true(shared_cache_forecast(&one, NULL, 0) == 0);
	assert_true(shared_cache_forecast(&one, &beside, 1) < 0.01);
	beside = &one;
	assert_true(shared_cache_forecast(&other, &beside, 1) < 0.01);
	/* Another of its own kind takes half of the cache. */
	assert_true(shared_cache_forecast(&one, &beside, 1) > 0.1);
}

/* More partners never do less. */
static void more_is_worse(void **state)
{
	static struct reuse_histogram h[PROGRAMS];
	static struct cache_curve curve[PROGRAMS];
	const struct cache_curve *others[REUSE_GROUP_MAX - 1];
	double before = 0;

	(void)state;
	make(h, curve);
	for (int count = 0; count < REUSE_GROUP_MAX; count++) {
		double y = shared_cache_forecast(&curve[2], others, count);

		assert_true(isfinite(y) && y >= before - 1e-6);
		before = y;
		if (count < REUSE_GROUP_MAX - 1)
			others[count] = &curve[(5 * count) % PROGRAMS];
	}
}

/* A tenth of the references is cold whatever the others do. Of two instructions a reference comes:
 * it takes 2 * 2 cycles without misses, and 60 for each of 0.1 misses, 10 in all. So it is slower
 * than without misses by 2.5, and it misses once in 100 cycles, which is 1.2 times in 120. */
static void units_of_a_line(void **state)
{
	struct reuse_histogram h = {.references = 1000, .instructions = 2000, .cold = 100};
	struct cache_curve curve;

	(void)state;
	h.bucket[0] = (struct reuse_bucket){900, 0};
	assert_true(cache_curve_make(&curve, &cache, &h, &(struct miss_line){2, 60}));
	for (int i = 0; i < CACHE_CURVE_POINTS; i++) {
		assert_float_equal(curve.slow[i], log(2.5), 1e-6);
		assert_float_equal(curve.adds[i], 1.2, 1e-6);
	}
	/* Without a line: 2 cycles, and 120 * 0.1. */
	assert_true(cache_curve_make(&curve, &cache, &h, NULL));
	assert_float_equal(curve.slow[9], log(7), 1e-6);
	assert_float_equal(curve.adds[9], 12.0 / 14, 1e-6);
}

/* Cycles of a reference of each program with a line of its own, from misses per cycle of all. */
static double cycles_at(const struct reuse_histogram *h, const struct miss_line *line,
	double misses_a_cycle, double *misses)
{
	const double base = line->base_cycles * h->instructions / h->references;
	double t = base + line->miss_cycles;

	for (int round = 0; round < 300; round++) {
		*misses = h->cold;
		for (int k = 0; k < REUSE_BUCKETS; k++)
			*misses += h->bucket[k].count *
				   (1 - pow(1 - 1 / cache.lines,
						h->bucket[k].mean * misses_a_cycle * t));
		*misses /= h->references;
		t = base + line->miss_cycles * *misses;
	}
	return t;
}

/* What a group's programs make of themselves, by halving; the first one's cycles of a reference. */
static double by_hand(
	const struct reuse_histogram *const *h, const struct miss_line *line, int count)
{
	double low = 1e-9, high = 10, t = 0;

	for (int step = 0; step < 60; step++) {
		double at = sqrt(low * high), all = 0;

		for (int i = count - 1; i >= 0; i--) {
			double misses;

			t = cycles_at(h[i], &line[i], at, &misses);
			all += misses / t;
		}
		if (all > at)
			low = at;
		else
			high = at;
	}
	return t;
}

/* Programs with lines of their own do to each other what the equations say. */
static void lines_by_hand(void **state)
{
	const struct reuse_histogram one = mixed(0.1, 100000, 1e-3, 0.3),
				     other = mixed(0.2, 60000, 2e-3, 0.5);
	const struct reuse_histogram *both[] = {&one, &other};
	const struct miss_line line[] = {{0.7, 40}, {2.5, 300}};
	struct cache_curve curve[2];
	const struct cache_curve *beside = &curve[1];
	double y, want;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_true(cache_curve_make(&curve[i], &cache, both[i], &line[i]));
	y = shared_cache_forecast(&curve[0], &beside, 1);
	want = log(by_hand(both, line, 2) / by_hand(both, line, 1));
	assert_true(want > 0.05);
	assert_float_equal(y, want, 0.01);
}

/* To whom a miss costs half suffers about half. A program that is twice as slow by itself suffers
 * less, but others miss more often between two references of it, so it is more than half. */
static void half_the_cost(void **state)
{
	const struct reuse_histogram h = mixed(0.01, 200000, 1e-4, 0.3),
				     mem = mixed(0.3, 60000, 1e-3, 0.3);
	const struct miss_line half = {1, 60}, slow = {2, 120};
	struct cache_curve curve, other;
	const struct cache_curve *beside = &other;
	double usual, y;

	(void)state;
	assert_true(cache_curve_make(&other, &cache, &mem, NULL));
	assert_true(cache_curve_make(&curve, &cache, &h, NULL));
	usual = shared_cache_forecast(&curve, &beside, 1);
	assert_true(usual > 0.05);
	assert_true(cache_curve_make(&curve, &cache, &h, &half));
	y = shared_cache_forecast(&curve, &beside, 1);
	assert_true(y > 0.4 * usual && y < 0.65 * usual);
	assert_true(cache_curve_make(&curve, &cache, &h, &slow));
	y = shared_cache_forecast(&curve, &beside, 1);
	assert_true(y > 0.5 * usual && y < 0.95 * usual);
	/* A line like the setting is no other. */
	assert_true(cache_curve_make(&curve, &cache, &h, &(struct miss_line){1, 120}));
	assert_true(shared_cache_forecast(&curve, &beside, 1) == usual);
}

/* Histograms that nobody has measured, but that can be read, give numbers all the same. */
static void extremes(void **state)
{
	const double big = 1e18;
	struct reuse_histogram h[] = {
		{.references = 1, .instructions = big, .cold = 1},
		{.references = big, .instructions = 1, .cold = 0},
		{.references = big, .instructions = 0, .cold = big},
		{.references = 1e-18, .instructions = big, .cold = 1e-18},
		{.references = 10, .instructions = 30, .cold = 0},
	};
	struct cache_curve curve[5];

	(void)state;
	h[1].bucket[0] = (struct reuse_bucket){big, 0};
	h[4].bucket[REUSE_BUCKETS - 1] = (struct reuse_bucket){10, big};
	for (int i = 0; i < 5; i++)
		assert_true(cache_curve_make(&curve[i], &cache, &h[i], NULL));
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++) {
			const struct cache_curve *other = &curve[j];
			double y = shared_cache_forecast(&curve[i], &other, 1);

			assert_true(isfinite(y) && y >= 0);
		}
	/* Nor do lines at the ends of what is possible break it, also where misses that cost next
	 * to nothing make more pressure than there can be. */
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 4; j++) {
			const struct miss_line line = {j & 1 ? 100 : 0.05, j & 2 ? 10000 : 1};
			const struct cache_curve *others[20];
			double y;

			assert_true(cache_curve_make(&curve[i], &cache, &h[i], &line));
			for (int k = 0; k < 20; k++)
				others[k] = &curve[k % 5];
			y = shared_cache_forecast(&curve[i], others, 20);
			assert_true(isfinite(y) && y >= 0);
		}
}

static void refused(void **state)
{
	struct reuse_histogram h = at_distance(100, 1), none = {.references = 0};
	struct cache_curve curve;

	(void)state;
	assert_false(cache_curve_make(&curve, &cache, &none, NULL));
	assert_false(cache_curve_make(&curve, &(struct shared_cache){1, 120}, &h, NULL));
	assert_false(cache_curve_make(&curve, &(struct shared_cache){1000, 0}, &h, NULL));
	assert_false(cache_curve_make(&curve, &(struct shared_cache){NAN, 120}, &h, NULL));
	assert_true(cache_curve_make(&curve, &(struct shared_cache){2, 1}, &h, NULL));
	assert_false(cache_curve_make(&curve, &cache, &h, &(struct miss_line){0, 120}));
	assert_false(cache_curve_make(&curve, &cache, &h, &(struct miss_line){1, 0}));
	assert_false(cache_curve_make(&curve, &cache, &h, &(struct miss_line){NAN, 120}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_model),
		cmocka_unit_test(alone_and_harmless),
		cmocka_unit_test(more_is_worse),
		cmocka_unit_test(units_of_a_line),
		cmocka_unit_test(lines_by_hand),
		cmocka_unit_test(half_the_cost),
		cmocka_unit_test(extremes),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
