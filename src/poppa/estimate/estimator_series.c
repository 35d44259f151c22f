/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up ratios of blocks over time and works out how uncertain their mean is. */
#include "poppa/estimate/estimator_series.h"

#include <math.h>
#include <string.h>

#include "poppa/estimate/estimator_state.h"
#include "statistics/statistics.h"

#define GROUP_NOISE 0.01 /* squared relative noise of s that a ratio may have */
#define MAX_GROUP 32     /* most blocks of one group */
#define MIN_GROUPS 8     /* groups stay small until there are so many */
#define GAP_CAP 24.0     /* a gap counts as at most this many usual ones */
#define MISSED_STEP 0.2  /* between the shares of (s_inf - c) of which the means are kept */

void recent_add(struct recent *r, double v)
{
	r->v[r->count++ % SERIES_RECENT] = v;
}

double recent_median(const struct recent *r)
{
	double v[SERIES_RECENT];
	int n = r->count < SERIES_RECENT ? (int)r->count : SERIES_RECENT;

	memcpy(v, r->v, sizeof(v));
	return statistics_median(v, n);
}

double recent_spread(const struct recent *r)
{
	double v[SERIES_RECENT], m = recent_median(r);
	int n = r->count < SERIES_RECENT ? (int)r->count : SERIES_RECENT;

	for (int i = 0; i < n; i++)
		v[i] = fabs(r->v[i] - m);
	return 1.4826 * statistics_median(v, n);
}

void series_member(const struct fit *fits, int hypotheses, uint64_t start_ns, struct member *m)
{
	memset(m, 0, sizeof(*m));
	for (int h = 0; h < hypotheses; h++) {
		m->s[h] = fits[h].s;
		m->c[h] = fits[h].c;
		m->bias[h] = fits[h].vss - fits[h].vsc;
		m->noise[h] = blockfit_variance(&fits[h]);
	}
	m->time = (double)start_ns;
}

/* u = c/s where a block misses this share of (s_inf - c): c/s_inf. */
static double without_missed(double u, double share)
{
	return u * (1 - share) / fmax(1 - share * u, 0.1);
}

/* Adds the last value to the time average, now that the gap after it is known. */
static void weigh_last(struct series *r, double gap_after)
{
	double w = r->values > 1 ? 0.5 * (r->last_gap + gap_after) : gap_after;

	r->sum_weight += w;
	r->sum_weight2 += w * w;
	for (int h = 0; h < r->hypotheses; h++) {
		double u = r->last_u[h];

		r->sum_u[h] += w * u;
		for (int i = 0; i < SERIES_MISSED; i++)
			r->sum_missed[i][h] += w * without_missed(u, (i + 1) * MISSED_STEP);
	}
}

static void add_value(struct series *r, const double *u, double time)
{
	double gap = time - r->last_time, usual;

	if (r->values) {
		if (!(gap > 0))
			gap = r->gap.count ? recent_median(&r->gap) : 1;
		recent_add(&r->gap, gap);
		usual = recent_median(&r->gap);
		gap = fmin(gap, GAP_CAP * usual);
		weigh_last(r, gap);
		for (int h = 0; h < r->hypotheses; h++) {
			double d1 = u[h] - r->last_u[h], d2 = u[h] - r->older_u[h];

			r->diff1[h] += 0.5 * d1 * d1;
			r->change[h] += gap * gap * d1 * d1;
			if (r->values > 1)
				r->diff2[h] += 0.5 * d2 * d2;
		}
		r->sum_gap2 += gap * gap;
		r->last_gap = gap;
	}
	r->values++;
	r->last_time = time;
	memcpy(r->older_u, r->last_u, sizeof(r->older_u));
	memcpy(r->last_u, u, sizeof(r->last_u));
}

/* Makes one value of the blocks of the group, and empties the group. */
static void end_group(struct series *r)
{
	double u[BLOCKFIT_HYPOTHESES] = {0}, n2 = r->group_n * r->group_n;

	/* To second order E[c/s] is c/s * (1 + var(s)/s^2 - cov(s,c)/(s c)). A correction that is
	 * too large for that must still not change the sign of a rate. */
	for (int h = 0; h < r->hypotheses; h++) {
		double bias = r->group.bias[h] / n2;

		u[h] = r->group.c[h] / r->group.s[h] * (bias > 0 ? 1 / (1 + bias) : 1 - bias);
		r->model_noise[h] += u[h] * u[h] * r->group.noise[h] / n2;
	}
	add_value(r, u, r->group.time / r->group_n);
	memset(&r->group, 0, sizeof(r->group));
	r->group_n = 0;
}

void series_add(struct series *r, const struct member *m, double noise)
{
	double want = fmin(ceil(noise / GROUP_NOISE), MAX_GROUP);

	r->blocks++;
	for (int h = 0; h < r->hypotheses; h++) {
		r->group.s[h] += m->s[h];
		r->group.c[h] += m->c[h];
		r->group.bias[h] += m->bias[h];
		r->group.noise[h] += m->noise[h];
	}
	r->group_n++;
	r->group.time += m->time;
	/* Of few blocks, several noisy values are better than one that has no interval. */
	want = fmin(want, 1 + floor((double)r->blocks / MIN_GROUPS));
	if (r->group_n >= want)
		end_group(r);
}

void series_close(struct series *r)
{
	if (r->values == 0)
		end_group(r);
	weigh_last(r, r->values > 1 ? r->last_gap : 1);
}

double series_mean(const struct series *r, int h)
{
	return r->sum_u[h] / r->sum_weight;
}

/*
 * `fresh` is noise, which is new in every value: the variogram's extrapolation to lag 0. What grows
 * with the lag is the job's own change. The average takes the middle between two values for the
 * time of a change, and is off by gap/sqrt(12); of a random walk the same share stays unknown
 * (systematic sampling under a linear variogram, Matheron).
 */
double series_variance(const struct series *r, int h)
{
	double n = (double)r->values;
	double lag1 = r->diff1[h] / fmax(n - 1, 1), lag2 = r->diff2[h] / fmax(n - 2, 1);
	double fresh = lag1, change = 0;

	if (n >= 8)
		fresh = fmin(lag1, fmax(2 * lag1 - lag2, r->model_noise[h] / n));
	if (fresh < lag1)
		change = fmax(0, r->change[h] - 2 * fresh * r->sum_gap2) / 12;
	return (fresh * r->sum_weight2 + change) / (r->sum_weight * r->sum_weight);
}

double series_missed(const struct series *r, int h, double a, double *slope, double *gain)
{
	double share = a / (1 + a), x = share / MISSED_STEP, mean = 0, u = series_mean(r, h);
	double left = fmax(1 - share * u, 0.1);

	/* A polynomial through the means that are kept (Lagrange). */
	for (int i = 0; i <= SERIES_MISSED; i++) {
		double w = 1;

		for (int o = 0; o <= SERIES_MISSED; o++)
			if (o != i)
				w *= (x - o) / (i - o);
		mean += w * (i ? r->sum_missed[i - 1][h] : r->sum_u[h]) / r->sum_weight;
	}
	*slope = -u * (1 - u) / pow(1 + a * (1 - u), 2);
	*gain = (1 - share) / (left * left);
	return mean;
}

#define REAL(name) STATE_REAL(struct series, name)
#define WHOLE(name) STATE_WHOLE(struct series, name)

static const struct state_field fields[] = {REAL(group), REAL(group_n), REAL(gap.v),
	WHOLE(gap.count), WHOLE(values), REAL(last_u), REAL(older_u), REAL(last_time),
	REAL(last_gap), REAL(sum_weight), REAL(sum_weight2), REAL(sum_u), REAL(sum_missed),
	REAL(diff1), REAL(diff2), REAL(sum_gap2), REAL(change), REAL(model_noise)};

void series_save(const struct series *r, json_t *json)
{
	state_save(fields, STATE_COUNT(fields), r, json);
}

int series_load(struct series *r, const json_t *json)
{
	return state_load(fields, STATE_COUNT(fields), json, r);
}
