/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/hold_way.c: when a job is frozen as a whole, and when no longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "poppa/measure/hold_way.h"

/* Plays n shutters of which each `apart`th is spoilt, in the way that is wanted; 0: none is. */
static void play(struct hold_way *w, int n, int apart)
{
	for (int i = 1; i <= n; i++)
		hold_way_shutter(w, w->whole, apart && i % apart == 0);
}

static void signals_do(void **state)
{
	struct hold_way w = {0};

	(void)state;
	play(&w, 10000, 0);
	assert_false(w.whole);
	play(&w, HOLD_WAY_MANY - 1, 1);
	play(&w, 10000, 0);
	assert_false(w.whole);
}

static void freezer_helps(void **state)
{
	struct hold_way w = {0};

	(void)state;
	play(&w, HOLD_WAY_MANY, 1);
	assert_true(w.whole);
	play(&w, 10000, 0);
	assert_true(w.whole);
	/* Some that are spoilt by chance change nothing. */
	play(&w, 10000, 3);
	assert_true(w.whole);
}

/* It is given up soon, and is the rarer the more often it has failed. */
static void freezer_does_not(void **state)
{
	struct hold_way w = {0};
	int frozen = 0;

	(void)state;
	play(&w, HOLD_WAY_MANY, 1);
	play(&w, HOLD_WAY_JUDGED, 1);
	assert_false(w.whole);
	/* What was spoilt by chance, or at first only, does not bring it back. */
	play(&w, HOLD_WAY_MANY, 1);
	play(&w, 10000, 0);
	assert_false(w.whole);
	/* Where neither way does, both are tried for as long as the job runs. */
	for (int i = 0; i < 100000; i++) {
		frozen += w.whole;
		play(&w, 1, 1);
	}
	assert_in_range(frozen, 100000 / 20, 100000 / 10);
	/* Who had made the freezer useless is soon frozen again when it is not. */
	for (int i = 0; i < 1000 && !w.whole; i++)
		play(&w, 1, 1);
	for (int i = 0; i < 4; i++) {
		assert_true(w.whole);
		play(&w, HOLD_WAY_JUDGED, 0);
	}
	assert_int_equal(w.patience, HOLD_WAY_MANY);
}

static void wanted_by_others(void **state)
{
	struct hold_way w = {0};

	(void)state;
	hold_way_freeze(&w);
	assert_true(w.whole);
	play(&w, HOLD_WAY_JUDGED / 2, 1);
	/* To be asked again does not begin anew. */
	hold_way_freeze(&w);
	play(&w, HOLD_WAY_JUDGED / 2, 1);
	assert_false(w.whole);
	hold_way_freeze(&w);
	assert_false(w.whole);
}

/* The scan that changes the way comes some time after. */
static void old_plans_tell_nothing(void **state)
{
	struct hold_way w = {0};

	(void)state;
	play(&w, HOLD_WAY_MANY, 1);
	for (int i = 0; i < 100; i++)
		hold_way_shutter(&w, false, true);
	assert_true(w.whole);
	play(&w, HOLD_WAY_JUDGED, 1);
	for (int i = 0; i < 100; i++)
		hold_way_shutter(&w, true, true);
	assert_false(w.whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_do),
		cmocka_unit_test(freezer_helps),
		cmocka_unit_test(freezer_does_not),
		cmocka_unit_test(wanted_by_others),
		cmocka_unit_test(old_plans_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
