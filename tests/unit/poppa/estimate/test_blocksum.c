/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/blocksum.c: the ratio of mean rates over all blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "poppa/estimate/blocksum.h"
#include "../noisy_block.h"

#define PERIOD_NS 400000000

/* Blocks of a job that shows all of its progress in one window of `every`, or none in a block. */
static void add_bursts(struct blocksum *b, int blocks, int every, double co, double solo)
{
	for (int i = 0; i < blocks; i++) {
		struct est_block block = noisy_block(co, solo, 0.05);

		block.start_ns = (uint64_t)(i + 1) * PERIOD_NS;
		for (int k = 0; k < 4; k++) {
			struct est_window *w[] = {
				&block.before[k], &block.during[k], &block.after[k]};

			for (int r = 0; r < 3; r++)
				w[r]->progress *= noise(1) > 0.7 ? every : 0;
		}
		blocksum_add(b, &block);
	}
}

static void nothing_is_said_of_few(void **state)
{
	struct blocksum b = {0};
	double u = 7, variance;

	(void)state;
	assert_false(blocksum_result(&b, &u, &variance));
	assert_true(blocksum_rough(&b) == 0);
	add_bursts(&b, BLOCKSUM_LEAST - 1, 4, 0.5, 1);
	assert_false(blocksum_result(&b, &u, &variance));
	/* Without progress there is no ratio. */
	b = (struct blocksum){0};
	add_bursts(&b, 100, 0, 0.5, 1);
	assert_false(blocksum_result(&b, &u, &variance));
	assert_true(u == 7);
}

static void bursts_have_no_bias(void **state)
{
	double sum = 0, inside = 0;

	(void)state;
	for (int run = 0; run < 100; run++) {
		struct blocksum b = {0};
		double u, variance;

		add_bursts(&b, 400, 4, 0.6, 1);
		assert_true(blocksum_result(&b, &u, &variance));
		assert_true(blocksum_rough(&b) > 0.9);
		sum += u;
		inside += fabs(u - 0.6) < 2 * sqrt(variance);
	}
	assert_float_equal(sum / 100, 0.6, 0.02);
	assert_true(inside >= 88);
}

static void even_progress_is_not_rough(void **state)
{
	struct blocksum b = {0};
	double u, variance;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct est_block block = noisy_block(0.6, 1, 0.05);

		block.start_ns = (uint64_t)(i + 1) * PERIOD_NS;
		blocksum_add(&b, &block);
	}
	assert_true(blocksum_result(&b, &u, &variance));
	assert_float_equal(u, 0.6, 0.01);
	assert_true(variance < 0.005 * 0.005);
	assert_true(blocksum_rough(&b) < 0.01);
}

/* A slow phase that loses much and a fast one that loses nothing: the ratio of sums alone would be
 * 0.833, the time average is 0.75. */
static void fast_phases_weigh_no_more(void **state)
{
	struct blocksum b = {0};
	double u, variance;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		bool fast = i / 20 % 2;
		struct est_block block = noisy_block(fast ? 2 : 0.5, fast ? 2 : 1, 0.05);

		block.start_ns = (uint64_t)(i + 1) * PERIOD_NS;
		blocksum_add(&b, &block);
	}
	assert_true(blocksum_result(&b, &u, &variance));
	assert_true(fabs(u - 0.75) < 2 * sqrt(variance));
	assert_true(fabs(u - 0.75) < 0.06);
}

/* A block after a long gap stands for more time than the others, but not for all of it. */
static void gaps_are_bounded(void **state)
{
	struct blocksum b = {0};
	double u, variance;
	uint64_t at = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct est_block block = noisy_block(i == 50 ? 0.1 : 0.6, 1, 0);

		block.start_ns = at += (uint64_t)PERIOD_NS * (i == 50 ? 10000 : 1);
		blocksum_add(&b, &block);
	}
	assert_true(blocksum_result(&b, &u, &variance));
	assert_float_equal(u, (98 * 0.6 + 2 * 0.1) / 100, 0.005);
}

/* Time that the shutter's own thread takes from co-runners is time alone. */
static void lent_time_is_alone(void **state)
{
	struct blocksum b = {0};
	double u, variance;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct est_block block = noisy_block(0.5 + 0.1 * 0.5, 1, 0);

		block.start_ns = (uint64_t)(i + 1) * PERIOD_NS;
		for (int k = 0; k < 4; k++)
			block.before[k].lent_ns = block.after[k].lent_ns =
				0.1 * block.before[k].dur_ns;
		blocksum_add(&b, &block);
	}
	assert_true(blocksum_result(&b, &u, &variance));
	assert_float_equal(u, 0.5, 0.001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_of_few),
		cmocka_unit_test(bursts_have_no_bias),
		cmocka_unit_test(even_progress_is_not_rough),
		cmocka_unit_test(fast_phases_weigh_no_more),
		cmocka_unit_test(gaps_are_bounded),
		cmocka_unit_test(lent_time_is_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
