/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the mean and the error of sham blocks. */
#include "poppa/estimate/sham.h"

#include <math.h>
#include <string.h>

#include "poppa/estimate/blockrate.h"

#define WILD 1.0          /* a log ratio above this, up or down, counts as this */
#define LEAST_BLOCKS 5    /* with fewer blocks the error is not known, and nothing is taken off */
#define CERTAIN_BLOCKS 12 /* with fewer blocks a job is not accused */
#define CERTAIN_SIGMAS 3.3
#define CERTAIN_EXCESS 0.01
/*
 * What is above k standard errors e is taken off, and nothing below. A job that does not react
 * loses e * phi(k) by that on average (phi: density of the normal distribution). HONEST_LOSS is how
 * much of degradation that may be, and k follows from it. With fewer than HONEST_SHAMS it may be
 * more.
 */
#define HONEST_LOSS 0.0003
#define HONEST_SHAMS 24
#define LEAST_SIGMAS 1.0

void sham_add(struct sham *s, const struct est_block *b)
{
	double co, solo, x, off;

	if (!blockrate(b, &co, &solo))
		return;
	x = fmax(-WILD, fmin(WILD, log(solo / co)));
	off = x - s->mean;
	s->blocks++;
	s->mean += off / (double)s->blocks;
	s->m2 += off * (x - s->mean);
}

void sham_add_beyond(struct sham *s, const struct est_block *b)
{
	struct est_block later = *b;

	memcpy(later.during, b->beyond, sizeof(later.during));
	later.during_n = b->beyond_n;
	if (later.during_n > 0)
		sham_add(s, &later);
}

double sham_degradation(const struct sham *s, double *error)
{
	double n = (double)s->blocks;

	*error = NAN;
	if (s->blocks < 2)
		return NAN;
	/* The error of D = 1 - exp(-x), to first order. */
	*error = exp(-s->mean) * sqrt(s->m2 / (n - 1) / n);
	return 1 - exp(-s->mean);
}

double sham_excess(const struct sham *s)
{
	double error, d = sham_degradation(s, &error);
	double loss = HONEST_LOSS * fmax(1, HONEST_SHAMS / (double)s->blocks);
	double density = loss / error * sqrt(2 * M_PI), sigmas = LEAST_SIGMAS;

	if (s->blocks < LEAST_BLOCKS)
		return 0;
	if (density < 1)
		sigmas = fmax(sigmas, sqrt(-2 * log(density)));
	return d > sigmas * error ? d : 0;
}

bool sham_caught(const struct sham *s)
{
	double error, d = sham_degradation(s, &error);

	return s->blocks >= CERTAIN_BLOCKS && d - CERTAIN_SIGMAS * error > CERTAIN_EXCESS;
}

json_t *sham_save(const struct sham *s)
{
	return json_pack(
		"{s:I, s:f, s:f}", "blocks", (json_int_t)s->blocks, "mean", s->mean, "m2", s->m2);
}

int sham_load(struct sham *s, const json_t *state)
{
	json_int_t blocks;
	double mean, m2;

	if (json_unpack((json_t *)state, "{s:I, s:F, s:F}", "blocks", &blocks, "mean", &mean, "m2",
		    &m2) ||
		blocks < 0 || !(m2 >= 0))
		return -1;
	*s = (struct sham){(uint64_t)blocks, mean, m2};
	return 0;
}
