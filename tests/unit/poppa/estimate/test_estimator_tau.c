/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/estimator_tau.c: which time constant blocks speak for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "poppa/estimate/estimator_tau.h"

#define CLEAR 1e-4 /* variance of a block that tells of tau */
#define DIM 1.0    /* and of one that does not */

/* Adds blocks that fit best with time constant k of family `before`. */
static void add(struct tau_loss *t, int blocks, int k, double variance, bool coherent)
{
	static const struct fit_input none;
	const struct fit best = {.s = 2, .c = 1, .vss = variance / 2, .vcc = variance / 2};
	struct fit fits[BLOCKFIT_HYPOTHESES];

	for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++) {
		fits[h] = best;
		fits[h].loss = h == BLOCKFIT_BEFORE * BLOCKFIT_TAUS + k ? 0 : 5;
	}
	while (blocks--)
		tau_loss_add(t, &none, 0.01, coherent, fits, &best, k);
}

static void the_prior_without_blocks(void **state)
{
	struct tau_loss t;
	double tau;

	(void)state;
	tau_loss_init(&t);
	tau = blockfit_tau(tau_loss_least(&t, BLOCKFIT_BEFORE));
	assert_true(tau > 200e3 && tau < 1000e3);
}

static void blocks_decide(void **state)
{
	struct tau_loss t;
	int prior;

	(void)state;
	tau_loss_init(&t);
	prior = tau_loss_least(&t, BLOCKFIT_BEFORE);
	add(&t, 20, prior + 5, CLEAR, true);
	assert_int_equal(tau_loss_least(&t, BLOCKFIT_BEFORE), prior + 5);
	/* The other family has no opinion of its own. */
	assert_int_equal(tau_loss_least(&t, BLOCKFIT_ALL), prior);
	/* A few that speak for another one do not turn it. */
	add(&t, 3, 1, CLEAR, true);
	assert_int_equal(tau_loss_least(&t, BLOCKFIT_BEFORE), prior + 5);
	assert_int_equal(t.pooled, 0);
}

/* Where s and c hardly differ, a block tells nothing of tau; the pool takes those that hold
 * together. */
static void blocks_that_tell_nothing(void **state)
{
	struct tau_loss t;
	int prior;

	(void)state;
	tau_loss_init(&t);
	prior = tau_loss_least(&t, BLOCKFIT_BEFORE);
	add(&t, 40, prior + 5, DIM, false);
	assert_int_equal(tau_loss_least(&t, BLOCKFIT_BEFORE), prior);
	assert_int_equal(t.pooled, 40);
	assert_int_equal(t.odd, 40);
	add(&t, 40, prior + 5, DIM, true);
	assert_int_equal(t.pooled, 80);
	assert_int_equal(t.odd, 40);
}

/* Memory is constant: full batches are merged in pairs, and no block is lost. */
static void batches_are_merged(void **state)
{
	struct tau_loss t;
	uint64_t blocks = 0;

	(void)state;
	tau_loss_init(&t);
	add(&t, 1000, 12, CLEAR, true);
	for (int b = 0; b < TAU_BATCHES; b++) {
		assert_true(t.batch_blocks[b] <= t.batch_size);
		blocks += t.batch_blocks[b];
	}
	assert_int_equal(blocks, 1000);
	assert_int_equal(t.batch_size, 64);
}

static void mean_at_the_least_loss(void **state)
{
	double mean[BLOCKFIT_TAUS], noise[BLOCKFIT_TAUS], variance, vague;
	struct tau_loss t;

	(void)state;
	tau_loss_init(&t);
	add(&t, 200, 12, CLEAR, true);
	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		mean[k] = 0.7;
		noise[k] = k == 12 ? 0.01 : 1;
	}
	assert_float_equal(
		tau_loss_mean(&t, BLOCKFIT_BEFORE, mean, noise, &variance, &vague), 0.7, 1e-12);
	assert_float_equal(variance, 0.01, 1e-12);
	assert_float_equal(vague, 0, 1e-12);
	/* The mean goes with tau: that of the least loss counts. */
	for (int k = 0; k < BLOCKFIT_TAUS; k++)
		mean[k] = 0.1 * k;
	assert_float_equal(
		tau_loss_mean(&t, BLOCKFIT_BEFORE, mean, noise, &variance, &vague), 1.2, 0.05);
	/* Nothing but the prior leaves tau open. */
	tau_loss_init(&t);
	tau_loss_mean(&t, BLOCKFIT_BEFORE, mean, noise, &variance, &vague);
	assert_true(vague > 0.01);
}

static void goes_on_from_a_checkpoint(void **state)
{
	struct tau_loss a, b;
	json_t *json = json_object();

	(void)state;
	tau_loss_init(&a);
	add(&a, 30, 12, CLEAR, true);
	add(&a, 50, 3, DIM, false);
	tau_loss_save(&a, json);
	memset(&b, 0, sizeof(b));
	assert_int_equal(tau_loss_load(&b, json), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	/* More in a batch than fits, and batches of nothing. */
	b.batch_blocks[1] = b.batch_size + 1;
	tau_loss_save(&b, json);
	assert_int_equal(tau_loss_load(&b, json), -1);
	memset(&b, 0, sizeof(b));
	tau_loss_save(&b, json);
	assert_int_equal(tau_loss_load(&b, json), -1);
	json_object_del(json, "pooled");
	assert_int_equal(tau_loss_load(&b, json), -1);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_prior_without_blocks),
		cmocka_unit_test(blocks_decide),
		cmocka_unit_test(blocks_that_tell_nothing),
		cmocka_unit_test(batches_are_merged),
		cmocka_unit_test(mean_at_the_least_loss),
		cmocka_unit_test(goes_on_from_a_checkpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
