/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A running mean that single wild values do not move. */
#include "poppa/estimate/clipmean.h"

#include <math.h>

#define CLIP 4.0
#define SPREAD_COUNT 32 /* values over which the spread is followed */
#define LEAST_SPREAD 1e-3

void clipmean_add(struct clipmean *m, double value)
{
	double limit = CLIP * m->spread, off = fmax(-limit, fmin(limit, value - m->mean)), step;

	m->count++;
	step = off / (double)m->count;
	m->mean += step;
	m->m2 += off * (off - step);
	/* 1.25 times the mean deviation is the standard deviation of a normal distribution. */
	m->spread += (1.25 * fabs(off) - m->spread) / fmin((double)m->count + 4, SPREAD_COUNT);
	m->spread = fmax(m->spread, LEAST_SPREAD);
}

double clipmean_variance(const struct clipmean *m)
{
	double n = (double)m->count;

	return m->count < 2 ? INFINITY : m->m2 / (n * (n - 1));
}
