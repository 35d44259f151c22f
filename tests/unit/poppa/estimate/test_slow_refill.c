/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what long blocks show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "poppa/estimate/slow_refill.h"

#define USUAL_NS 8e5
#define WINDOWS 4
#define BEYOND 9

static struct slow_refill slow;
static uint64_t dice, now_ns;

static double uniform(void)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(dice >> 11) / 9007199254740992.0;
}

/* About normal, of standard deviation 1. */
static double gauss(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform();
	return sum;
}

static int reset(void **state)
{
	(void)state;
	slow_refill_init(&slow, &slow_prior_default);
	dice = 1;
	return 0;
}

/* A block of a job whose fit says s and c, with this relative noise of a window; the noise of the
 * fit is that of a mean of windows. */
static void add(double s, double c, double noise, const struct est_block *b)
{
	struct fit fits[BLOCKFIT_TAUS];
	double vss = noise * noise / 2, vcc = noise * noise / 4;
	struct est_block timed = *b;

	timed.start_ns = now_ns += 400000000;
	s *= 1 + sqrt(vss) * gauss();
	c *= 1 + sqrt(vcc) * gauss();
	for (int k = 0; k < BLOCKFIT_TAUS; k++)
		fits[k] = (struct fit){.s = s, .c = c, .vss = vss, .vcc = vcc};
	slow_refill_add(&slow, &timed, fits, 5, fmax(noise, 0.01), 0);
}

static void add_usual(double s, double c, double noise, int count)
{
	struct est_block b = {.during_n = WINDOWS};

	for (int i = 0; i < count; i++)
		add(s, c, noise, &b);
}

/* A long block in which the rate climbs on from s to full with time constant tau_ns. */
static struct est_block long_block(double s, double full, double tau_ns, double noise)
{
	struct est_block b = {.during_n = WINDOWS, .beyond_n = BEYOND};
	double start = WINDOWS * USUAL_NS, length = start;

	for (int i = 0; i < WINDOWS; i++)
		b.during[i] = (struct est_window){s * USUAL_NS, 0, USUAL_NS, 0};
	for (int i = 0; i < BEYOND; i++) {
		double left =
			(exp(-start / tau_ns) - exp(-(start + length) / tau_ns)) * tau_ns / length;
		double rate = full - (full - s) * left / exp(-0.75 * WINDOWS * USUAL_NS / tau_ns);

		rate *= 1 + noise * sqrt(USUAL_NS / length) * gauss();
		b.beyond[i] = (struct est_window){rate * length, 0, length, 0};
		start += length;
		length = est_beyond_ns(i + 1, WINDOWS * USUAL_NS);
	}
	return b;
}

static void add_long(double s, double c, double full, double tau_ns, double noise)
{
	struct est_block b = long_block(s, full, tau_ns, noise);

	add(s, c, noise, &b);
}

static void nothing_is_known_without_a_long_block(void **state)
{
	(void)state;
	add_usual(0.9, 0.6, 0.05, 100);
	slow_refill_weigh(&slow, 5, 0);
	assert_int_equal(slow.blocks, 0);
	assert_true(slow.share.a == 0 && slow.share.variance == 0);
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		assert_float_equal(slow.likelihood[i], 1.0 / SLOW_HYPOTHESES, 1e-12);
}

/* The likelihoods are those of the blocks alone; the share is of both. */
static void the_prior_changes_the_share_alone(void **state)
{
	static const struct slow_prior priors[] = {{{0.98, 0.01, 0.01}}, {{0.65, 0.33, 0.02}},
		{{0.01, 0.98, 0.01}}, {{0.01, 0.01, 0.98}}};
	double a[4], likelihood[4][SLOW_HYPOTHESES];

	for (int i = 0; i < 4; i++) {
		reset(state);
		slow_refill_init(&slow, &priors[i]);
		add_usual(0.9, 0.6, 0.05, 30);
		add_long(0.9, 0.6, 0.93, 20e6, 0.1);
		slow_refill_weigh(&slow, 5, 0);
		a[i] = slow.share.a;
		memcpy(likelihood[i], slow.likelihood, sizeof(likelihood[i]));
		assert_true(slow_likelihood_valid(slow.likelihood));
		assert_memory_equal(likelihood[i], likelihood[0], sizeof(likelihood[i]));
		print_message("none %.2f: a %.3f, likelihoods %.3f %.3f %.3f\n",
			priors[i].weight[SLOW_NONE], a[i], likelihood[i][0], likelihood[i][1],
			likelihood[i][2]);
	}
	assert_true(a[0] < a[1] && a[1] < a[2] && a[1] < a[3]);
}

/* What many blocks show, no prior denies; and the likelihoods say which hypothesis it is. */
static void blocks_overrule_the_prior(void **state)
{
	static const struct {
		double s, full;
		enum slow_hypothesis which;
	} jobs[] = {{0.9, 0.9, SLOW_NONE}, {0.9, 0.99, SLOW_NARROW}, {0.7, 1.1, SLOW_WIDE}};

	for (int i = 0; i < 3; i++) {
		reset(state);
		slow_refill_init(&slow,
			&(struct slow_prior){{i == 0 ? 0.01 : 0.98, i == 0 ? 0.98 : 0.01, 0.01}});
		for (int n = 0; n < 8; n++) {
			add_usual(jobs[i].s, 0.6, 0.03, 60);
			add_long(jobs[i].s, 0.6, jobs[i].full, i ? 20e6 : 1e6, 0.03);
		}
		slow_refill_weigh(&slow, 5, 0);
		print_message("a %.3f, true %.3f; likelihoods %.4f %.4f %.4f\n", slow.share.a,
			(jobs[i].full - jobs[i].s) / (jobs[i].s - 0.6), slow.likelihood[0],
			slow.likelihood[1], slow.likelihood[2]);
		assert_true(fabs(slow.share.a - (jobs[i].full - jobs[i].s) / (jobs[i].s - 0.6)) <
			    fmax(3 * sqrt(slow.share.variance), 0.05));
		for (int h = 0; h < SLOW_HYPOTHESES; h++)
			assert_true(slow.likelihood[h] <= slow.likelihood[jobs[i].which]);
	}
}

static void a_checkpoint_has_the_prior(void **state)
{
	struct slow_prior prior = {{0.2, 0.7, 0.1}};
	struct slow_refill back;
	json_t *saved;

	reset(state);
	slow_refill_init(&slow, &prior);
	add_usual(0.9, 0.6, 0.05, 30);
	add_long(0.9, 0.6, 1, 20e6, 0.05);
	slow_refill_weigh(&slow, 5, 0);
	saved = slow_refill_save(&slow);
	slow_refill_init(&back, &slow_prior_default);
	assert_int_equal(slow_refill_load(&back, saved), 0);
	assert_memory_equal(&back.prior, &prior, sizeof(prior));
	assert_memory_equal(back.likelihood, slow.likelihood, sizeof(back.likelihood));
	json_object_set_new(saved, "prior", json_pack("[f, f, f]", 0.5, 0.5, 0.5));
	assert_int_equal(slow_refill_load(&back, saved), -1);
	json_decref(saved);
}

/* Whatever the time constant is, s_inf = s + a (s - c) is right within its own error. */
static void finds_what_comes_back_slowly(void **state)
{
	static const double taus[] = {3e6, 10e6, 30e6, 100e6};

	for (size_t i = 0; i < sizeof(taus) / sizeof(taus[0]); i++) {
		reset(state);
		for (int n = 0; n < 4; n++) {
			add_usual(0.9, 0.6, 0.05, 30);
			add_long(0.9, 0.6, 1, taus[i], 0.05);
		}
		slow_refill_weigh(&slow, 5, 0);
		print_message("tau %.0f ms: a %.3f (%.3f), true 0.333\n", taus[i] / 1e6,
			slow.share.a, sqrt(slow.share.variance));
		assert_true(
			fabs(slow.share.a - 1 / 3.0) < fmax(3 * sqrt(slow.share.variance), 0.05));
		assert_true(slow.share.variance < 0.15 * 0.15);
	}
}

/* Of what such a job loses, two thirds and more come back slowly: that is seldom, and the interval
 * of what few long blocks say must have room for it. */
static void believes_in_big_caches(void **state)
{
	int held = 0;

	for (int run = 0; run < 30; run++) {
		slow_refill_init(&slow, &slow_prior_default);
		for (int n = 0; n < 2; n++) {
			add_usual(0.72, 0.6, 0.05, 60);
			add_long(0.72, 0.6, 0.96, 40e6, 0.1);
		}
		slow_refill_weigh(&slow, 5, 0);
		held += fabs(slow.share.a - 2) < 2 * sqrt(slow.share.variance);
	}
	print_message("a true 2, now %.3f (%.3f); held %d of 30\n", slow.share.a,
		sqrt(slow.share.variance), held);
	assert_true(held >= 25);
	(void)state;
}

/* A quick pace needs no long look; as long as nothing is known, only a long one tells. */
static void long_blocks_are_as_long_as_the_pace(void **state)
{
	static const double taus[] = {5e6, 20e6, 100e6};
	int windows[3];

	(void)state;
	for (size_t i = 0; i < sizeof(taus) / sizeof(taus[0]); i++) {
		slow_refill_init(&slow, &slow_prior_default);
		assert_int_equal(slow_refill_windows(&slow), EST_BEYOND);
		for (int n = 0; n < 6; n++) {
			add_usual(0.9, 0.6, 0.05, 30);
			add_long(0.9, 0.6, 1, taus[i], 0.05);
		}
		slow_refill_weigh(&slow, 5, 0);
		windows[i] = slow_refill_windows(&slow);
		print_message("tau %.0f ms: %d windows\n", taus[i] / 1e6, windows[i]);
	}
	assert_true(
		windows[0] < windows[2] && windows[0] <= windows[1] && windows[1] <= windows[2]);
}

static void corrects_nothing_where_nothing_is_slow(void **state)
{
	double sum = 0;

	for (int run = 0; run < 30; run++) {
		slow_refill_init(&slow, &slow_prior_default);
		for (int n = 0; n < 4; n++) {
			add_usual(0.9, 0.6, 0.05, 30);
			add_long(0.9, 0.6, 0.9, 1e6, 0.05);
		}
		slow_refill_weigh(&slow, 5, 0);
		sum += slow.share.a;
	}
	print_message("mean a %.4f\n", sum / 30);
	/* Of s_inf, less than 0.6 %. */
	assert_true(sum / 30 < 0.02);
	(void)state;
}

/* A long block is compared with the blocks of its own phase. */
static void keeps_phases_apart(void **state)
{
	(void)state;
	for (int n = 0; n < 8; n++) {
		for (int i = 0; i < 6; i++) {
			add_usual(0.9, 0.6, 0.03, 2);
			add_usual(1.8, 1.5, 0.03, 2);
		}
		if (n % 2)
			add_long(0.9, 0.6, 1, 20e6, 0.03);
		else
			add_long(1.8, 1.5, 1.9, 20e6, 0.03);
	}
	slow_refill_weigh(&slow, 5, 0);
	print_message("a %.3f (%.3f)\n", slow.share.a, sqrt(slow.share.variance));
	assert_true(fabs(slow.share.a - 1 / 3.0) < 0.06);
}

/* One long block of four in which the phase changed, or in which a window is wild or missing. */
static void bears_blocks_that_do_not_fit(void **state)
{
	for (int kind = 0; kind < 3; kind++) {
		reset(state);
		for (int n = 0; n < 4; n++) {
			struct est_block b = long_block(0.9, 1, 20e6, 0.03);

			add_usual(0.9, 0.6, 0.03, 30);
			for (int i = 3; n == 1 && kind == 0 && i < BEYOND; i++)
				b.beyond[i].progress *= 2;
			if (n == 1 && kind == 1)
				b.beyond[2].progress *= 0.1;
			if (n == 1 && kind == 2)
				b.beyond[8].progress = NAN;
			add(0.9, 0.6, 0.03, &b);
		}
		slow_refill_weigh(&slow, 5, 0);
		print_message(
			"kind %d: a %.3f (%.3f)\n", kind, slow.share.a, sqrt(slow.share.variance));
		assert_true(
			fabs(slow.share.a - 1 / 3.0) < fmax(3 * sqrt(slow.share.variance), 0.06));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_is_known_without_a_long_block, reset),
		cmocka_unit_test(the_prior_changes_the_share_alone),
		cmocka_unit_test(blocks_overrule_the_prior),
		cmocka_unit_test(a_checkpoint_has_the_prior),
		cmocka_unit_test(finds_what_comes_back_slowly),
		cmocka_unit_test(believes_in_big_caches),
		cmocka_unit_test(long_blocks_are_as_long_as_the_pace),
		cmocka_unit_test_setup(corrects_nothing_where_nothing_is_slow, reset),
		cmocka_unit_test_setup(keeps_phases_apart, reset),
		cmocka_unit_test(bears_blocks_that_do_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
