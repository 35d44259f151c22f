/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the sampler of reuse distances. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/reuse/sampler.h"

static struct reuse_sampler *sampler;

static int begin(void **state)
{
	(void)state;
	sampler = reuse_sampler_new(7);
	return sampler ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	reuse_sampler_free(sampler);
	return 0;
}

static struct reuse_histogram sweeps(uint64_t lines, int times)
{
	struct reuse_histogram h;

	for (int t = 0; t < times; t++)
		for (uint64_t i = 0; i < lines; i++)
			reuse_sampler_add(sampler, i);
	reuse_sampler_result(sampler, 2 * lines * (uint64_t)times, &h);
	return h;
}

/* A sweep comes back to a line when it has seen all others. Small ones are counted exactly. */
static void exact(void **state)
{
	struct reuse_histogram h = sweeps(1000, 10);

	(void)state;
	assert_true(h.references == 10000 && h.instructions == 20000 && h.cold == 1000);
	assert_true(h.bucket[reuse_bucket_of(999)].count == 9000);
	assert_true(h.bucket[reuse_bucket_of(999)].mean == 999);
}

/* With more lines than can be watched, some are, which stand for all. */
static void thinned(void **state)
{
	const uint64_t lines = 300000;
	struct reuse_histogram h = sweeps(lines, 6);
	double sum = h.cold;

	(void)state;
	for (int k = 0; k < REUSE_BUCKETS; k++) {
		sum += h.bucket[k].count;
		if (k != reuse_bucket_of(lines - 1))
			assert_true(h.bucket[k].count == 0);
	}
	assert_true(fabs(sum - h.references) < 1);
	assert_true(fabs(h.cold - (double)lines) < 0.05 * (double)lines);
	assert_true(fabs(h.bucket[reuse_bucket_of(lines - 1)].mean - (double)(lines - 1)) < 1);
}

/* A line that comes all the time keeps its weight beside a large sweep. */
static void hot_line(void **state)
{
	struct reuse_histogram h;

	(void)state;
	for (uint64_t i = 0; i < 2000000; i++)
		reuse_sampler_add(sampler, i % 2 ? 1 : 1000 + i / 2 % 400000);
	reuse_sampler_result(sampler, 1, &h);
	assert_true(fabs(h.bucket[0].count / h.references - 0.5) < 0.02);
	assert_true(fabs(h.cold / h.references - 0.2) < 0.02);
}

static void nothing(void **state)
{
	struct reuse_histogram h;

	(void)state;
	reuse_sampler_result(sampler, 0, &h);
	assert_true(h.references == 0 && h.cold == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(exact, begin, end),
		cmocka_unit_test_setup_teardown(thinned, begin, end),
		cmocka_unit_test_setup_teardown(hot_line, begin, end),
		cmocka_unit_test_setup_teardown(nothing, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
