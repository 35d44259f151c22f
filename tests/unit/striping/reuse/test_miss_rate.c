/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of expected miss rates, alone and in groups. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "striping/reuse/miss_rate.h"
#include "striping/reuse/sampler.h"
#include "unit/striping/reuse/histograms.h"

static void near(double a, double b, double difference)
{
	if (!(fabs(a - b) <= difference))
		fail_msg("%g is not near %g", a, b);
}

static void alone(void **state)
{
	struct reuse_histogram cold = at_distance(10, 1000), h = at_distance(1000, 100);
	double r = miss_rate_alone(&h, 500);

	(void)state;
	near(miss_rate_alone(&cold, 500), 1, 1e-6);
	/* The equation holds. */
	near(r, 0.1 + 0.9 * (1 - pow(1 - 1.0 / 500, 1000 * r)), 1e-6);
	assert_true(r > 0.5);
	/* The more lines, the fewer misses. */
	for (double lines = 1; lines < 1e6; lines *= 2)
		assert_true(miss_rate_alone(&h, lines * 2) <= miss_rate_alone(&h, lines) + 1e-9);
	near(miss_rate_alone(&h, 1e9), 0.1, 1e-3);
	near(miss_rate_alone(&h, 1), 1, 0);
	near(miss_rate_alone(&h, 0.5), 1, 0);
	/* Nothing is cold: with room for all there is no miss, with too little there are. */
	h = at_distance(1000, 0);
	near(miss_rate_alone(&h, 5000), 0, 1e-6);
	assert_true(miss_rate_alone(&h, 500) > 0.5);
}

/* Against a cache that gives up a random line, with references at random. */
static void simulated(void **state)
{
	enum { LINES = 512, MEMORY = 2048, STEPS = 2000000 };
	struct reuse_sampler *s = reuse_sampler_new(1);
	struct reuse_histogram h;
	static int in[MEMORY], line[LINES];
	int used = 0, misses = 0;

	(void)state;
	assert_non_null(s);
	srandom(1);
	for (int i = 0; i < STEPS; i++) {
		/* Half of the references go to an eighth of the memory. */
		int to = (int)(random() % (random() % 2 ? MEMORY / 8 : MEMORY));

		reuse_sampler_add(s, (uint64_t)to);
		if (in[to])
			continue;
		misses++;
		if (used < LINES) {
			line[used++] = to;
		} else {
			int way = (int)(random() % LINES);

			in[line[way]] = 0;
			line[way] = to;
		}
		in[to] = 1;
	}
	reuse_sampler_result(s, STEPS, &h);
	reuse_sampler_free(s);
	near(miss_rate_alone(&h, LINES), misses / (double)STEPS, 0.01);
}

static void groups(void **state)
{
	struct reuse_histogram small = at_distance(100, 1), large = at_distance(5000, 1);
	struct miss_rate_member twins[] = {{&small, 1, 0}, {&small, 1, 0}};
	struct miss_rate_member both[] = {{&small, 1, 0}, {&large, 1, 0}};
	struct miss_rate_member slow[] = {{&small, 1, 0}, {&large, 0.1, 0}};
	double r;

	(void)state;
	/* Two of equal rates: distances twice as long, or as long as they are. */
	r = miss_rate_group(twins, 2, 300, MISS_COMB);
	near(r, 0.001 + 0.999 * (1 - pow(1 - 1.0 / 300, 200 * r)), 1e-6);
	near(miss_rate_group(twins, 2, 300, MISS_COMB_OTHERS), miss_rate_alone(&small, 300), 1e-6);
	near(miss_rate_group(twins, 2, 300, MISS_AVG), miss_rate_alone(&small, 150), 1e-6);
	/* Each has its own misses, of which the group's are the mean. */
	r = miss_rate_group(both, 2, 1000, MISS_COMB);
	assert_true(both[0].miss_rate < both[1].miss_rate);
	near((both[0].miss_rate + both[1].miss_rate) / 2, r, 1e-6);
	assert_true(both[0].miss_rate > miss_rate_alone(&small, 1000));
	/* One that makes few references harms less. */
	miss_rate_group(slow, 2, 1000, MISS_COMB);
	assert_true(slow[0].miss_rate < both[0].miss_rate);
	near(miss_rate_group(both, 2, 1, MISS_COMB), 1, 0);
	near(miss_rate_group(both, 2, 2, MISS_AVG), 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(simulated),
		cmocka_unit_test(groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
