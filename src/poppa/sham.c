/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mean and error of sham blocks. */
#include "poppa/sham.h"

#include <math.h>

#include "poppa/blockrate.h"

#define WILD 1.0          /* a log ratio farther off counts as this */
#define CERTAIN_BLOCKS 12 /* with fewer a job is not accused */
#define CERTAIN_SIGMAS 3.3
#define CERTAIN_EXCESS 0.01
#define LIKELY_SIGMAS 1.5

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

double sham_degradation(const struct sham *s, double *error)
{
	double n = (double)s->blocks;

	*error = NAN;
	if (s->blocks < 2)
		return NAN;
	/* Of D = 1 - exp(-x), to first order. */
	*error = exp(-s->mean) * sqrt(s->m2 / (n - 1) / n);
	return 1 - exp(-s->mean);
}

double sham_excess(const struct sham *s)
{
	double error, d = sham_degradation(s, &error);

	return d > LIKELY_SIGMAS * error ? d : 0;
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
