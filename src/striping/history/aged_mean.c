/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs runs by their age. */
#include "striping/history/aged_mean.h"

#include <math.h>

/* A program changes with its input, its version and the system's libraries, which sites update
 * every few months: what was measured weighs half after 30 days. */
#define HALF_LIFE_S (30 * 86400.0)
/* Of 20 runs that are three half-lives old, the weight of two and a half is left. */
#define EXPIRED_S (3 * HALF_LIFE_S)
/* Nothing is older than that, so that every weight stays a number above 0. */
#define OLDEST_S (20 * HALF_LIFE_S)

double aged_left(long long last, long long now)
{
	double age = (double)now - (double)last;

	return exp2(-fmin(fmax(age, 0), OLDEST_S) / HALF_LIFE_S);
}

bool aged_out(long long last, long long now)
{
	return (double)now - (double)last > EXPIRED_S;
}

/* `runs` is 1 / sum of the squares of the shares (Kish, Survey Sampling, 1965). */
void aged_mean_add(struct aged_mean *m, double value, long long now, int most)
{
	int next = m->runs < most ? m->runs + 1 : most;
	double from = value - m->mean, share = fmax(1.0 / next, 1 - aged_left(m->last, now));
	double squares;

	if (!m->runs)
		share = 1;
	squares = share * share + (m->runs ? (1 - share) * (1 - share) / m->runs : 0);
	m->runs = (int)fmin(round(1 / squares), most);
	m->mean += share * from;
	m->variance = (1 - share) * (m->variance + share * from * from);
	if (now > m->last)
		m->last = now;
}

void aged_no_later(long long *when, long long now)
{
	if (*when > now)
		*when = now;
}
