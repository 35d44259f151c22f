/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs time constants by their loss. */
#include "poppa/estimate/estimator_tau.h"

#include <math.h>
#include <string.h>

#include "poppa/estimate/estimator_state.h"

/* The prior of tau: the middle of 0.2 to 1 ms, within a factor of 2 or 3. */
#define TAU_PRIOR 450e3
#define TAU_PRIOR_SPREAD 0.8

#define LOSS_CAP 2.0 /* most loss of one block under one time constant, as log likelihood */
/* Squared distances of s and c, divided by their variance. */
#define CLEAR_SIGNAL 4.0 /* a block above this counts by itself */
#define POOL_BELOW 9.0   /* where the median is below this, blocks are pooled as well */

#define USUALLY_ODD 0.03 /* share of blocks that do not hold together, with phases of seconds */

void tau_loss_init(struct tau_loss *t)
{
	*t = (struct tau_loss){.batch_size = 1};
}

static double prior_loss(int k)
{
	double tau = k ? blockfit_tau(k) : BLOCKFIT_TAU_FIRST / BLOCKFIT_TAU_STEP;
	double d = log(tau / TAU_PRIOR) / TAU_PRIOR_SPREAD;

	return 0.5 * d * d;
}

/* The grid point of least loss when batch `without` is left out (-1: none). The pool stays in. */
static int least_loss(
	const struct tau_loss *t, enum blockfit_family family, int without, double *loss)
{
	double odd = (double)t->odd / fmax((double)t->pooled, 1) / USUALLY_ODD;
	double trust = 1 / (1 + pow(odd, 4));
	int best = 0;

	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		loss[k] = prior_loss(k);
		loss[k] += trust * blockfit_pool_loss(&t->pool[family * BLOCKFIT_TAUS + k]);
		for (int b = 0; b < TAU_BATCHES; b++)
			if (b != without)
				loss[k] += t->loss[b][family * BLOCKFIT_TAUS + k];
		if (loss[k] < loss[best])
			best = k;
	}
	return best;
}

/* The position of the minimum on the grid, by a parabola in log tau between points. */
static double best_position(const struct tau_loss *t, enum blockfit_family family, int without)
{
	double loss[BLOCKFIT_TAUS], left, right, curve;
	int best = least_loss(t, family, without, loss);

	/* Point 0 stands for no time constant, so it has no place on the logarithmic scale. */
	if (best < 2 || best == BLOCKFIT_TAUS - 1)
		return best;
	left = loss[best - 1] - loss[best];
	right = loss[best + 1] - loss[best];
	curve = left + right;
	return curve > 0 ? best + 0.5 * (left - right) / curve : best;
}

/* The value at a position of the grid, quadratic between the points. */
static double value_at(const double *v, double position)
{
	int mid = (int)lround(position);
	double d;

	if (mid < 2)
		mid = position < 1 ? 0 : 2;
	if (mid == 0)
		return v[0] + position * (v[1] - v[0]);
	if (mid > BLOCKFIT_TAUS - 2)
		mid = BLOCKFIT_TAUS - 2;
	d = position - mid;
	return v[mid] + 0.5 * d * (v[mid + 1] - v[mid - 1]) +
	       0.5 * d * d * (v[mid + 1] - 2 * v[mid] + v[mid - 1]);
}

void tau_loss_add(struct tau_loss *t, const struct fit_input *p, double sigma, bool coherent,
	const struct fit *fits, const struct fit *best, int k)
{
	double apart = (best->s - best->c) / best->c;
	double signal = apart * apart / blockfit_variance(best);
	double weight = signal > CLEAR_SIGNAL ? 1 - CLEAR_SIGNAL / signal : 0;
	int batch = 0;

	recent_add(&t->signal, signal);
	if (recent_median(&t->signal) < POOL_BELOW) {
		t->pooled++;
		if (coherent)
			blockfit_pool(p, k, best, sigma, t->pool);
		else
			t->odd++;
	}
	while (batch < TAU_BATCHES && t->batch_blocks[batch] == t->batch_size)
		batch++;
	if (batch == TAU_BATCHES) {
		for (int b = 0; b < TAU_BATCHES / 2; b++) {
			for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++)
				t->loss[b][h] = t->loss[2 * b][h] + t->loss[2 * b + 1][h];
			t->batch_blocks[b] = 2 * t->batch_size;
		}
		batch = TAU_BATCHES / 2;
		memset(t->loss[batch], 0, sizeof(t->loss[0]) * (TAU_BATCHES / 2));
		memset(&t->batch_blocks[batch], 0, sizeof(t->batch_blocks[0]) * (TAU_BATCHES / 2));
		t->batch_size *= 2;
	}
	t->batch_blocks[batch]++;
	for (int family = 0; family < BLOCKFIT_FAMILIES; family++) {
		const struct fit *f = &fits[family * BLOCKFIT_TAUS];
		double least = INFINITY;

		for (int i = 0; i < BLOCKFIT_TAUS; i++)
			least = fmin(least, f[i].loss);
		/* Each block's say is limited, as the model does not hold for every block. */
		for (int i = 0; i < BLOCKFIT_TAUS; i++)
			t->loss[batch][family * BLOCKFIT_TAUS + i] +=
				weight * LOSS_CAP * (1 - exp((least - f[i].loss) / LOSS_CAP));
	}
}

/*
 * The variance of the mean over the grid, where each tau is as likely as its loss says. It matters
 * where a small degradation tells little of tau: then the prior decides, and the jackknife does not
 * see that.
 */
static double tau_scatter(
	const struct tau_loss *t, enum blockfit_family family, const double *mean, double value)
{
	double loss[BLOCKFIT_TAUS], weight, sum = 0, scatter = 0;
	int best = least_loss(t, family, -1, loss);

	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		weight = exp(loss[best] - loss[k]);
		sum += weight;
		scatter += weight * (mean[k] - value) * (mean[k] - value);
	}
	return scatter / sum;
}

int tau_loss_least(const struct tau_loss *t, enum blockfit_family family)
{
	double loss[BLOCKFIT_TAUS];

	return least_loss(t, family, -1, loss);
}

double tau_loss_mean(const struct tau_loss *t, enum blockfit_family family, const double *mean,
	const double *noise, double *variance, double *vague)
{
	double position = best_position(t, family, -1), value, tau_var = 0;
	int batches = 0;

	value = value_at(mean, position);
	*variance = noise[(int)lround(position)];
	/* A jackknife over batches gives the error of tau, which all blocks share. */
	for (int b = 0; b < TAU_BATCHES; b++) {
		double d;

		if (t->batch_blocks[b] == 0)
			continue;
		d = value_at(mean, best_position(t, family, b)) - value;
		tau_var += d * d;
		batches++;
	}
	if (batches > 1)
		tau_var *= (batches - 1.0) / batches;
	*variance += tau_var;
	*vague = fmax(tau_scatter(t, family, mean, value) - tau_var, 0);
	return value;
}

static const struct state_field fields[] = {STATE_REAL(struct tau_loss, loss),
	STATE_WHOLE(struct tau_loss, batch_blocks), STATE_WHOLE(struct tau_loss, batch_size)};

static const struct state_field pool_fields[] = {STATE_REAL(struct tau_loss, pool),
	STATE_WHOLE(struct tau_loss, pooled), STATE_WHOLE(struct tau_loss, odd),
	STATE_REAL(struct tau_loss, signal.v), STATE_WHOLE(struct tau_loss, signal.count)};

void tau_loss_save(const struct tau_loss *t, json_t *json)
{
	json_t *pool = json_object();

	state_save(fields, STATE_COUNT(fields), t, json);
	state_save(pool_fields, STATE_COUNT(pool_fields), t, pool);
	json_object_set_new(json, "pooled", pool);
}

int tau_loss_load(struct tau_loss *t, const json_t *json)
{
	if (state_load(fields, STATE_COUNT(fields), json, t) ||
		state_load(
			pool_fields, STATE_COUNT(pool_fields), json_object_get(json, "pooled"), t))
		return -1;
	for (int b = 0; b < TAU_BATCHES; b++)
		if (t->batch_blocks[b] > t->batch_size)
			return -1;
	return t->batch_size > 0 ? 0 : -1;
}
