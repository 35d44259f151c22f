/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/blockfit.c: the fit of one block under each time constant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "poppa/estimate/blockfit.h"

#define WINDOW 800e3 /* ns */

/* Progress of a window that begins t after the switch, when the rate goes from `from` to `to`. */
static double progress(double from, double to, double tau, double t)
{
	double gone = tau > 0 ? tau / WINDOW * (exp(-t / tau) - exp(-(t + WINDOW) / tau)) : 0;

	return WINDOW * (to + (from - to) * gone);
}

/* The model of blockfit.h without noise. */
static struct est_block model(double c, double s, double tau)
{
	struct est_block b = {.before_n = 4, .during_n = 4, .after_n = 4};
	double reached = tau > 0 ? s + (c - s) * exp(-4 * WINDOW / tau) : s;

	for (int k = 0; k < 4; k++) {
		b.before[k] = (struct est_window){c * WINDOW, 0, WINDOW, 0};
		b.during[k] = (struct est_window){progress(c, s, tau, k * WINDOW), 0, WINDOW, 0};
		b.after[k] =
			(struct est_window){progress(reached, c, tau, k * WINDOW), 0, WINDOW, 0};
	}
	return b;
}

static void time_constants(void **state)
{
	(void)state;
	assert_float_equal(blockfit_tau(0), 0, 0);
	assert_float_equal(blockfit_tau(1), BLOCKFIT_TAU_FIRST, 1e-6);
	for (int i = 2; i < BLOCKFIT_TAUS; i++)
		assert_float_equal(blockfit_tau(i) / blockfit_tau(i - 1), BLOCKFIT_TAU_STEP, 1e-9);
}

/* Under the right time constant both families find both rates, and nothing is left over. */
static void finds_both_rates(void **state)
{
	struct fit fits[BLOCKFIT_HYPOTHESES];
	struct fit_input p;

	(void)state;
	for (int k = 0; k < BLOCKFIT_TAUS; k += 5) {
		struct est_block b = model(0.7, 1, blockfit_tau(k));

		blockfit_prepare(&b, &p);
		assert_int_equal(p.before.n, 3); /* without the daemon's own */
		assert_int_equal(p.during.n, 4);
		assert_int_equal(blockfit_all(&p, 0.01, fits), 0);
		for (int family = 0; family < BLOCKFIT_FAMILIES; family++) {
			const struct fit *f = &fits[family * BLOCKFIT_TAUS + k];

			assert_float_equal(f->c, 0.7, 1e-6);
			assert_float_equal(f->s, 1, 1e-6);
			assert_float_equal(f->loss, 0, 1e-6);
			for (int other = 0; other < BLOCKFIT_TAUS; other++)
				assert_true(fits[family * BLOCKFIT_TAUS + other].loss >=
					    f->loss - 1e-9);
		}
		assert_true(blockfit_coherent(&p, fits));
		assert_float_equal(blockfit_sigma(&p, k, &fits[k]), 0, 1e-6);
	}
}

/* One wild window, in whichever region, drops out of the fit; the mean leaves out a high one. */
static void wild_windows_drop_out(void **state)
{
	struct fit fits[BLOCKFIT_HYPOTHESES];
	struct fit_input p;

	(void)state;
	for (int k = 0; k < 4; k++) {
		struct est_block b = model(0.7, 1, 0);

		b.during[k].progress *= k % 2 ? 0.3 : 3;
		blockfit_prepare(&b, &p);
		assert_int_equal(blockfit_all(&p, 0.01, fits), 0);
		assert_float_equal(fits[0].s, 1, 1e-6);
		assert_true(fits[0].kept_during < 1);
		if (k % 2)
			continue;
		assert_int_equal(blockfit_means(&p, 1e-4, fits), 0);
		assert_float_equal(fits[0].s, 1, 1e-6);
		assert_float_equal(fits[0].c, 0.7, 1e-6);
	}
}

static void too_little_is_refused(void **state)
{
	struct fit fits[BLOCKFIT_HYPOTHESES];
	struct est_block b = model(0.7, 1, 0);
	struct fit_input p;

	(void)state;
	b.during_n = 0;
	blockfit_prepare(&b, &p);
	assert_int_equal(blockfit_all(&p, 0.01, fits), -1);
	assert_int_equal(blockfit_means(&p, 1e-4, fits), -1);
	b = model(0.7, 1, 0);
	for (int k = 0; k < 4; k++)
		b.before[k].progress = b.after[k].progress = NAN;
	blockfit_prepare(&b, &p);
	assert_int_equal(p.before.n + p.after.n, 0);
	assert_int_equal(blockfit_all(&p, 0.01, fits), -1);
}

/* A phase that ends within the block shows; the decay after the resume does not. */
static void shift_is_that_of_the_job(void **state)
{
	struct fit fits[BLOCKFIT_HYPOTHESES];
	struct est_block b = model(0.7, 1, blockfit_tau(5));
	struct fit_input p;
	double noise;

	(void)state;
	blockfit_prepare(&b, &p);
	assert_int_equal(blockfit_all(&p, 0.01, fits), 0);
	assert_float_equal(blockfit_shift(&p, 5, &fits[5], &noise), 0, 0.01);
	assert_true(noise > 0 && noise < 2);
	for (int k = 0; k < 4; k++)
		b.before[k].progress *= 2;
	blockfit_prepare(&b, &p);
	assert_true(blockfit_shift(&p, 5, &fits[5], &noise) > 0.5);
}

/* What the daemon takes from the co-runners counts as time alone. */
static void lent_time_is_alone(void **state)
{
	struct fit fits[BLOCKFIT_HYPOTHESES];
	struct est_block b = model(0.7, 1, 0);
	struct fit_input p;

	(void)state;
	for (int k = 0; k < 4; k++) {
		b.before[k].lent_ns = b.after[k].lent_ns = 0.1 * WINDOW;
		b.before[k].progress += 0.1 * 0.3 * WINDOW;
		b.after[k].progress += 0.1 * 0.3 * WINDOW;
	}
	blockfit_prepare(&b, &p);
	assert_int_equal(blockfit_all(&p, 0.01, fits), 0);
	assert_float_equal(fits[0].c, 0.7, 1e-6);
	assert_float_equal(fits[0].s, 1, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_constants),
		cmocka_unit_test(finds_both_rates),
		cmocka_unit_test(wild_windows_drop_out),
		cmocka_unit_test(too_little_is_refused),
		cmocka_unit_test(shift_is_that_of_the_job),
		cmocka_unit_test(lent_time_is_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
