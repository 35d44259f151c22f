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
		assert_true(cache_curve_make(&curve[i], &cache, &h[i]));
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
	assert_true(cache_curve_make(&one, &cache, &mem));
	assert_true(cache_curve_make(&other, &cache, &calm));
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
		assert_true(cache_curve_make(&curve[i], &cache, &h[i]));
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++) {
			const struct cache_curve *other = &curve[j];
			double y = shared_cache_forecast(&curve[i], &other, 1);

			assert_true(isfinite(y) && y >= 0);
		}
}

static void refused(void **state)
{
	struct reuse_histogram h = at_distance(100, 1), none = {.references = 0};
	struct cache_curve curve;

	(void)state;
	assert_false(cache_curve_make(&curve, &cache, &none));
	assert_false(cache_curve_make(&curve, &(struct shared_cache){1, 120}, &h));
	assert_false(cache_curve_make(&curve, &(struct shared_cache){1000, 0}, &h));
	assert_false(cache_curve_make(&curve, &(struct shared_cache){NAN, 120}, &h));
	assert_true(cache_curve_make(&curve, &(struct shared_cache){2, 1}, &h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_model),
		cmocka_unit_test(alone_and_harmless),
		cmocka_unit_test(more_is_worse),
		cmocka_unit_test(extremes),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
