/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what profiles tell of classes that share a cache. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "striping/reuse/cache_forecast.h"
#include "unit/striping/reuse/histograms.h"

static struct shared_cache cache_of(int64_t bytes)
{
	struct poppa_settings s;

	settings_defaults(&s);
	s.stripe_cache = bytes;
	return cache_forecast_cache(&s);
}

static bool pair(const struct cache_forecast *f, const char *one, const char *other, double *y)
{
	return cache_forecast_pair(
		f, cache_forecast_class(f, one), cache_forecast_class(f, other), y);
}

static void pairs_of_classes(void **state)
{
	const struct reuse_histogram mem = at_distance(9000, 1), calm = at_distance(5, 0);
	struct shared_cache s = cache_of(1 << 20);
	struct profiles *p = profiles_new();
	struct cache_forecast *f;
	double twins, y;

	(void)state;
	assert_int_equal(profiles_set(p, "7:mem", &mem, 1, NULL), 0);
	assert_int_equal(profiles_set(p, "7:calm", &calm, 1, NULL), 0);
	f = cache_forecast_new(p, &s, NULL, NULL);
	assert_non_null(f);
	assert_int_equal(cache_forecast_classes(f), 2);
	assert_string_equal(cache_forecast_names(f)[0], "7:calm");
	assert_int_equal(cache_forecast_class(f, "7:mem"), 1);
	assert_int_equal(cache_forecast_class(f, "7:none"), -1);
	assert_non_null(cache_forecast_curve(f, 1));
	assert_null(cache_forecast_curve(f, -1));
	assert_true(pair(f, "7:mem", "7:mem", &twins) && twins > 0.1);
	assert_true(pair(f, "7:mem", "7:calm", &y) && y < 0.01);
	assert_false(pair(f, "7:mem", "7:none", &y));
	assert_false(pair(f, "7:none", "7:mem", &y));
	cache_forecast_free(f);
	/* Slower memory makes it worse, and a cache for both makes it good. */
	s.miss_cycles = 400;
	f = cache_forecast_new(p, &s, NULL, NULL);
	assert_true(pair(f, "7:mem", "7:mem", &y) && y > twins);
	cache_forecast_free(f);
	s = cache_of(64 << 20);
	f = cache_forecast_new(p, &s, NULL, NULL);
	assert_true(pair(f, "7:mem", "7:mem", &y) && y < twins / 4);
	cache_forecast_free(f);
	profiles_free(p);
}

/* A miss of "7:mem" costs what arg says; of others nothing is known. */
static bool known_cost(void *arg, const char *class_name, double *base, double *miss)
{
	*base = 1;
	*miss = *(double *)arg;
	return !strcmp(class_name, "7:mem");
}

/* Whose cost of a miss is known suffers by that, and others by the setting. */
static void costs_of_classes(void **state)
{
	const struct reuse_histogram mem = at_distance(9000, 1);
	const struct shared_cache s = cache_of(1 << 20);
	struct profiles *p = profiles_new();
	struct cache_forecast *usual, *f;
	double cost = 30, before, y;

	(void)state;
	assert_int_equal(profiles_set(p, "7:mem", &mem, 1, NULL), 0);
	assert_int_equal(profiles_set(p, "7:new", &mem, 1, NULL), 0);
	usual = cache_forecast_new(p, &s, NULL, NULL);
	f = cache_forecast_new(p, &s, known_cost, &cost);
	assert_true(pair(usual, "7:mem", "7:new", &before));
	assert_true(pair(f, "7:mem", "7:new", &y) && y > 0 && y < 0.7 * before);
	/* The other one is the same program, but nobody knows that; and it has more misses beside
	 * it, as they take less time. */
	assert_true(pair(f, "7:new", "7:mem", &y) && y >= before);
	cache_forecast_free(f);
	/* What is no cost makes no curve. */
	cost = 0;
	f = cache_forecast_new(p, &s, known_cost, &cost);
	assert_int_equal(cache_forecast_classes(f), 1);
	cache_forecast_free(f);
	cache_forecast_free(usual);
	profiles_free(p);
}

/* Without the setting, and without profiles, nothing is expected of anybody. */
static void not_used(void **state)
{
	const struct reuse_histogram h = at_distance(9000, 1);
	struct shared_cache s = cache_of(0);
	struct profiles *p = profiles_new();
	struct cache_forecast *f;
	double y;

	(void)state;
	assert_int_equal(profiles_set(p, "7:mem", &h, 1, NULL), 0);
	f = cache_forecast_new(p, &s, NULL, NULL);
	assert_non_null(f);
	assert_int_equal(cache_forecast_classes(f), 0);
	assert_false(pair(f, "7:mem", "7:mem", &y));
	cache_forecast_free(f);
	assert_int_equal(cache_forecast_classes(NULL), 0);
	assert_null(cache_forecast_names(NULL));
	assert_int_equal(cache_forecast_class(NULL, "7:mem"), -1);
	assert_false(pair(NULL, "7:mem", "7:mem", &y));
	cache_forecast_free(NULL);
	profiles_free(p);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* As many as may be, all pairs: slurmctld's thread does it once a minute. It takes a fifth of a
 * second; where it took 20 seconds, it would have forgotten what single programs do. */
static void many(void **state)
{
	struct shared_cache s = cache_of(32 << 20);
	struct profiles *p = profiles_new();
	struct cache_forecast *f;
	double began = cpu_seconds(), sum = 0;

	(void)state;
	for (int i = 0; i < PROFILES_MAX; i++) {
		struct reuse_histogram h = at_distance(1000 * pow(1.06, i), 1);
		char name[32];

		for (int k = 0; k < 12; k++)
			h.bucket[k] = (struct reuse_bucket){100, 1.5 * reuse_bucket_from(k)};
		h.references = h.instructions = 2500;
		snprintf(name, sizeof(name), "7:%d", i);
		assert_int_equal(profiles_set(p, name, &h, 1, NULL), 0);
	}
	f = cache_forecast_new(p, &s, NULL, NULL);
	for (int i = 0; i < PROFILES_MAX; i++)
		for (int j = 0; j < PROFILES_MAX; j++) {
			double y;

			assert_true(cache_forecast_pair(f, i, j, &y));
			assert_true(isfinite(y) && y >= 0);
			sum += y;
		}
	print_message("%d pairs: mean %.3f, %.3f s\n", PROFILES_MAX * PROFILES_MAX,
		sum / PROFILES_MAX / PROFILES_MAX, cpu_seconds() - began);
	assert_true(cpu_seconds() - began < 20);
	cache_forecast_free(f);
	profiles_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_of_classes),
		cmocka_unit_test(costs_of_classes),
		cmocka_unit_test(not_used),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
