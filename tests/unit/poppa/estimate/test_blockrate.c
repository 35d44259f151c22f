/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/blockrate.c: the rates of a block's windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "poppa/estimate/blockrate.h"
#include "../noisy_block.h"

static void rates(void **state)
{
	struct est_block b = noisy_block(2, 3, 0);
	double co, solo;

	(void)state;
	assert_true(blockrate(&b, &co, &solo));
	assert_float_equal(co, 2, 1e-9);
	assert_float_equal(solo, 3, 1e-9);
	/* The daemon's own window, a wild one and a lost one change nothing. */
	b.before[0].progress = 0;
	b.after[1].progress *= 100;
	b.during[2].progress = NAN;
	assert_true(blockrate(&b, &co, &solo));
	assert_float_equal(co, 2, 1e-9);
	assert_float_equal(solo, 3, 1e-9);
	/* By cycles where all have them. */
	for (int k = 0; k < 4; k++)
		b.before[k].cycles = b.during[k].cycles = b.after[k].cycles = 400e3;
	assert_true(blockrate(&b, &co, &solo));
	assert_float_equal(solo, 6, 1e-9);
	b.during_n = 0;
	assert_false(blockrate(&b, &co, &solo));
}

static void windows(void **state)
{
	struct est_window w = {600, 300, 200, 0};

	(void)state;
	assert_float_equal(blockrate_window(&w, true), 2, 1e-12);
	assert_float_equal(blockrate_window(&w, false), 3, 1e-12);
	w.cycles = 0;
	assert_true(isnan(blockrate_window(&w, true)));
	w.progress = NAN;
	assert_true(isnan(blockrate_window(&w, false)));
	w = (struct est_window){-1, 1, 1, 0};
	assert_true(isnan(blockrate_window(&w, false)));
	w = (struct est_window){INFINITY, 1, 1, 0};
	assert_true(isnan(blockrate_window(&w, false)));
}

/* One window that ran without cycles takes them from all; one that did not run has none to have. */
static void cycles_are_all_or_none(void **state)
{
	struct est_block b = noisy_block(2, 3, 0);

	(void)state;
	assert_false(blockrate_has_cycles(&b));
	for (int k = 0; k < 4; k++)
		b.before[k].cycles = b.during[k].cycles = b.after[k].cycles = 400e3;
	assert_true(blockrate_has_cycles(&b));
	b.after[3].cycles = 0;
	assert_false(blockrate_has_cycles(&b));
	b.after[3].progress = 0;
	assert_true(blockrate_has_cycles(&b));
	b.after[3].progress = NAN;
	assert_true(blockrate_has_cycles(&b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates),
		cmocka_unit_test(windows),
		cmocka_unit_test(cycles_are_all_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
