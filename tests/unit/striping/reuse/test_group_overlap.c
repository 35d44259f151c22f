/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of how several partners on a cache differ from each of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "striping/reuse/group_overlap.h"
#include "unit/striping/reuse/histograms.h"

enum { MEM, FITS, CALM, NONE, CLASSES };
static const char *const names[CLASSES] = {"7:mem", "7:fits", "7:calm", NULL};
static const double weights[CLASSES] = {1, 1, 1, 0};
static int profiles[CLASSES];
static struct cache_forecast *cache;

/* A cache of 1024 lines: one program takes all of it, one a third. */
static int make(void **state)
{
	struct reuse_histogram mem = at_distance(3000, 10), fits = at_distance(400, 0),
			       calm = at_distance(5, 0);
	struct profiles *p = profiles_new();
	const struct shared_cache shared = {1024, 10};

	(void)state;
	profiles_set(p, names[MEM], &mem, 1, NULL);
	profiles_set(p, names[FITS], &fits, 1, NULL);
	profiles_set(p, names[CALM], &calm, 1, NULL);
	cache = cache_forecast_new(p, &shared, NULL, NULL);
	profiles_free(p);
	for (int i = 0; i < CLASSES; i++)
		profiles[i] = names[i] ? cache_forecast_class(cache, names[i]) : -1;
	return cache_forecast_classes(cache) == 3 ? 0 : -1;
}

static int clean(void **state)
{
	(void)state;
	cache_forecast_free(cache);
	return 0;
}

static double forecast(int one, const int *others, int count)
{
	const struct cache_curve *curve[8];

	for (int i = 0; i < count; i++)
		curve[i] = cache_forecast_curve(cache, profiles[others[i]]);
	return shared_cache_forecast(cache_forecast_curve(cache, profiles[one]), curve, count);
}

/* The group's forecast by those of pairs, both against the class everywhere. */
static void quotient(void **state)
{
	struct group_overlap *g = group_overlap_new(cache, profiles, weights, CLASSES);
	const int two[] = {MEM, MEM}, own[] = {FITS, FITS};
	double pairs = 2 * forecast(FITS, two, 1), group = forecast(FITS, two, 2);
	double own_pairs = 2 * forecast(FITS, own, 1), own_group = forecast(FITS, own, 2);

	(void)state;
	assert_non_null(g);
	assert_true(fabs(pairs - group) > 0.05);
	assert_true(fabs(log(group_overlap_factor(g, 3, FITS, two, 2)) -
			    (pairs - group - own_pairs + own_group)) < 1e-5);
	/* Among its own kind a job is as fast as compact, whatever the cache does. */
	assert_true(fabs(group_overlap_factor(g, 3, FITS, own, 2) - 1) < 1e-9);
	group_overlap_free(g);
}

static void what_has_no_groups(void **state)
{
	struct group_overlap *g = group_overlap_new(cache, profiles, weights, CLASSES);
	const int two[] = {MEM, MEM}, with_none[] = {MEM, NONE, NONE}, calm[] = {CALM, CALM};
	double own = 1 / group_overlap_factor(g, 4, MEM, with_none, 1);

	(void)state;
	assert_true(group_overlap_factor(g, 2, MEM, two, 1) == 1);
	assert_true(group_overlap_factor(g, 4, NONE, two, 2) == 1);
	assert_true(group_overlap_factor(NULL, 4, MEM, two, 2) == 1);
	/* Those that are not known leave the others as they are. */
	assert_true(fabs(own * group_overlap_factor(g, 4, MEM, with_none, 3) - 1) < 1e-9);
	assert_true(fabs(own * group_overlap_factor(g, 4, MEM, calm, 2) - 1) < 0.02);
	assert_true(group_overlap_usual(g, 4, NONE) == 1);
	assert_true(group_overlap_usual(g, 2, MEM) == 1);
	assert_true(group_overlap_usual(NULL, 4, MEM) == 1);
	group_overlap_free(g);
	/* Classes without a profile, a cluster without them. */
	assert_null(group_overlap_new(cache, &profiles[NONE], weights, 1));
	group_overlap_free(NULL);
}

/* Between what the groups that can be drawn say. */
static void usual(void **state)
{
	static const double only_mem[CLASSES] = {1, 0, 0, 0};
	struct group_overlap *g = group_overlap_new(cache, profiles, weights, CLASSES);
	struct group_overlap *mem = group_overlap_new(cache, profiles, only_mem, CLASSES);
	double least = INFINITY, most = 0, here;

	(void)state;
	for (int i = 0; i < 27; i++) {
		const int others[] = {i % 3, i / 3 % 3, i / 9};
		double factor = group_overlap_factor(g, 4, FITS, others, 3);

		least = fmin(least, factor);
		most = fmax(most, factor);
	}
	here = group_overlap_usual(g, 4, FITS);
	assert_true(least < here && here < most);
	assert_true(fabs(group_overlap_usual(mem, 4, FITS) -
			    group_overlap_factor(mem, 4, FITS, (const int[]){MEM, MEM, MEM}, 3)) <
		    1e-9);
	group_overlap_free(mem);
	group_overlap_free(g);
}

/* However many lanes, the factor has its bounds. */
static void bounds(void **state)
{
	struct group_overlap *g = group_overlap_new(cache, profiles, weights, CLASSES);
	int others[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		others[i] = i % 3;
	for (int lanes = 2; lanes <= 20; lanes++)
		for (int class = 0; class < CLASSES; class ++) {
			double factor = group_overlap_factor(g, lanes, class, others, lanes - 1);
			double least = 1 / GROUP_OVERLAP_MOST / GROUP_OVERLAP_MOST;

			assert_true(factor >= least && factor <= 1 / least);
			assert_true(group_overlap_usual(g, lanes, class) >= least);
		}
	group_overlap_free(g);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Placement looks factors up under slurmctld's locks: it takes less than a microsecond. Where it
 * took 50, each would be found from the histograms. */
static void fast(void **state)
{
	enum { LOOKUPS = 100000 };
	static const int lanes[] = {4, GROUP_LANES_MAX};
	struct group_overlap *g = group_overlap_new(cache, profiles, weights, CLASSES);

	(void)state;
	for (int l = 0; l < 2; l++) {
		double began = cpu_seconds(), sum = 0, each;

		for (int i = 0; i < LOOKUPS; i++) {
			int others[GROUP_LANES_MAX];

			for (int k = 0; k < lanes[l] - 1; k++)
				others[k] = (i + k) % 3;
			sum += group_overlap_factor(g, lanes[l], i % 3, others, lanes[l] - 1);
		}
		each = (cpu_seconds() - began) / LOOKUPS;
		print_message(
			"%d lanes: %.2f us, mean %.2f\n", lanes[l], 1e6 * each, sum / LOOKUPS);
		assert_true(each < 50e-6);
	}
	group_overlap_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotient),
		cmocka_unit_test(what_has_no_groups),
		cmocka_unit_test(usual),
		cmocka_unit_test(bounds),
		cmocka_unit_test(fast),
	};

	return cmocka_run_group_tests(tests, make, clean);
}
