/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/sham.c: who reacts to being measured is found, others are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "poppa/estimate/sham.h"
#include "../noisy_block.h"

/* Honest jobs are not accused, however noisy: 2,000 of them, looked at once each. */
static void honest(void **state)
{
	int accused = 0, docked = 0;
	double taken = 0;

	(void)state;
	for (int job = 0; job < 2000; job++) {
		struct sham s = {0};
		double sd = 0.02 + 0.08 * (job % 5) / 4;

		for (int i = 0; i < 12 + job % 60; i++) {
			struct est_block b = noisy_block(1, 1, sd);

			sham_add(&s, &b);
		}
		accused += sham_caught(&s);
		docked += sham_excess(&s) > 0;
		taken += sham_excess(&s) / 2000;
	}
	assert_true(accused <= 4);
	assert_true(docked < 2000 * 9 / 100);
	assert_true(taken < 0.0015);
}

static void dishonest(void **state)
{
	struct sham s = {0}, back;
	double error;
	json_t *json;

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct est_block b = noisy_block(0.93, 1, 0.05);

		sham_add(&s, &b);
		if (i < 11)
			assert_false(sham_caught(&s));
	}
	assert_true(sham_caught(&s));
	assert_true(fabs(sham_degradation(&s, &error) - 0.07) < 4 * error);
	json = sham_save(&s);
	assert_int_equal(sham_load(&back, json), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	json_object_set_new(json, "m2", json_real(-1));
	assert_int_equal(sham_load(&back, json), -1);
	json_decref(json);
}

/* Of few shams nothing is known, and a block without rates is none. */
static void few_say_nothing(void **state)
{
	struct est_block b = noisy_block(0.5, 1, 0.01), none = {.before_n = 0};
	struct sham s = {0};
	double error;

	(void)state;
	sham_add(&s, &none);
	assert_int_equal(s.blocks, 0);
	sham_add(&s, &b);
	assert_true(isnan(sham_degradation(&s, &error)) && isnan(error));
	for (int i = 1; i < 4; i++) {
		b = noisy_block(0.5, 1, 0.01);
		sham_add(&s, &b);
	}
	assert_true(sham_degradation(&s, &error) > 0.4);
	assert_float_equal(sham_excess(&s), 0, 0);
	b = noisy_block(0.5, 1, 0.01);
	sham_add(&s, &b);
	assert_float_equal(sham_excess(&s), sham_degradation(&s, &error), 0);
	assert_false(sham_caught(&s));
}

/* A job that is slower in the middle of its shams gains nothing by them: nothing is added. */
static void slower_is_not_paid(void **state)
{
	struct sham s = {0};

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct est_block b = noisy_block(1, 0.9, 0.02);

		sham_add(&s, &b);
	}
	assert_float_equal(sham_excess(&s), 0, 0);
	assert_false(sham_caught(&s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest),
		cmocka_unit_test(dishonest),
		cmocka_unit_test(few_say_nothing),
		cmocka_unit_test(slower_is_not_paid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
