/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/estimator_series.c: means over time, and how far off they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "poppa/estimate/estimator_series.h"

/* Adds a block whose ratio c/s is u, at this time. */
static void add(struct series *r, double u, double time, double noise)
{
	struct member m = {.s = {2}, .c = {2 * u}, .noise = {1e-6}, .time = time};

	series_add(r, &m, noise);
}

static double mean(const struct series *r)
{
	struct series closed = *r;

	series_close(&closed);
	return series_mean(&closed, 0);
}

static double variance(const struct series *r)
{
	struct series closed = *r;

	series_close(&closed);
	return series_variance(&closed, 0);
}

static void the_last_values(void **state)
{
	struct recent r = {.count = 0};

	(void)state;
	recent_add(&r, 3);
	recent_add(&r, 1);
	recent_add(&r, 2);
	assert_float_equal(recent_median(&r), 2, 0);
	assert_float_equal(recent_spread(&r), 1.4826, 1e-9);
	for (int i = 0; i < SERIES_RECENT; i++)
		recent_add(&r, 100 + i);
	assert_float_equal(recent_median(&r), 100 + SERIES_RECENT / 2, 0);
	assert_int_equal(r.count, SERIES_RECENT + 3);
}

/* A value stands for the time around it, so that rare blocks count for more. */
static void mean_over_time(void **state)
{
	struct series r = {.hypotheses = 1};

	(void)state;
	add(&r, 0.5, 0, 0);
	assert_float_equal(mean(&r), 0.5, 1e-12);
	for (int i = 1; i < 10; i++)
		add(&r, 0.5, i, 0);
	for (int i = 0; i < 10; i++)
		add(&r, 1, 11 + 2 * i, 0);
	assert_int_equal(r.values, 20);
	/* 10.5 s of the one, 20 s of the other. */
	assert_float_equal(mean(&r), (10.5 * 0.5 + 20 * 1) / 30.5, 1e-12);
}

/* A node that slept for a day does not make one block of it stand for the day. */
static void a_long_gap_is_cut(void **state)
{
	struct series r = {.hypotheses = 1};

	(void)state;
	for (int i = 0; i < 100; i++)
		add(&r, 0.5, i, 0);
	for (int i = 0; i < 10; i++)
		add(&r, 1, 86400 + i, 0);
	/* Uncut, both sides of the gap would count the same. */
	assert_true(mean(&r) > 0.55 && mean(&r) < 0.65);
}

/* Of blocks that are too noisy to divide by, one value is made of several. */
static void noisy_blocks_are_grouped(void **state)
{
	struct series quiet = {.hypotheses = 1}, noisy = {.hypotheses = 1};

	(void)state;
	for (int i = 0; i < 320; i++) {
		add(&quiet, 0.8, i, 0.001);
		add(&noisy, 0.8, i, 0.05);
	}
	assert_int_equal(quiet.values, 320);
	assert_in_range(noisy.values, 320 / 5, 320 / 2);
	assert_int_equal(noisy.blocks, 320);
	assert_float_equal(mean(&noisy), 0.8, 1e-12);
	/* Until there are some values, groups stay small. */
	noisy = (struct series){.hypotheses = 1};
	for (int i = 0; i < 8; i++)
		add(&noisy, 0.8, i, 0.3);
	assert_true(noisy.values >= 7);
}

static void more_blocks_less_variance(void **state)
{
	struct series r = {.hypotheses = 1};
	double at_40 = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		add(&r, i % 2 ? 0.4 : 0.6, i, 0);
		if (i == 39)
			at_40 = variance(&r);
	}
	assert_true(at_40 > 0);
	assert_float_equal(variance(&r) / at_40, 0.1, 0.03);
	/* Without noise or change there is none. */
	r = (struct series){.hypotheses = 1};
	for (int i = 0; i < 40; i++)
		add(&r, 0.5, i, 0);
	assert_float_equal(variance(&r), 0, 1e-15);
}

static void goes_on_from_a_checkpoint(void **state)
{
	struct series a = {.hypotheses = 1}, b = {.hypotheses = 1};
	json_t *json = json_object(), *value;
	const char *key;
	void *next;

	(void)state;
	for (int i = 0; i < 50; i++)
		add(&a, 0.5 + 0.01 * (i % 7), i * 1.1, 0.03);
	series_save(&a, json);
	assert_int_equal(series_load(&b, json), 0);
	b.blocks = a.blocks;
	for (int i = 50; i < 90; i++) {
		add(&a, 0.5 + 0.01 * (i % 7), i * 1.1, 0.03);
		add(&b, 0.5 + 0.01 * (i % 7), i * 1.1, 0.03);
	}
	assert_true(mean(&a) == mean(&b));
	assert_true(variance(&a) == variance(&b));
	json_object_foreach_safe(json, next, key, value)
	{
		json_t *lacking = json_copy(json);

		json_object_del(lacking, key);
		assert_int_equal(series_load(&b, lacking), -1);
		json_decref(lacking);
	}
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_values),
		cmocka_unit_test(mean_over_time),
		cmocka_unit_test(a_long_gap_is_cut),
		cmocka_unit_test(noisy_blocks_are_grouped),
		cmocka_unit_test(more_blocks_less_variance),
		cmocka_unit_test(goes_on_from_a_checkpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
