/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works out medians and quantiles. */
#include "statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

#define FRACTION_STEPS 300
#define NEARLY_NOTHING 1e-300
/* A quantile is found to 2e-11 of it. */
#define HALVINGS 40

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void statistics_sort(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
}

double statistics_median(double *v, int n)
{
	if (n == 0)
		return NAN;
	statistics_sort(v, n);
	return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static double not_nothing(double v)
{
	return fabs(v) < NEARLY_NOTHING ? NEARLY_NOTHING : v;
}

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8), evaluated
 * by Lentz' method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_nothing(1 - (a + b) * x / (a + 1)), h = d;

	for (int m = 1; m <= FRACTION_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / not_nothing(1 + even * d);
		c = not_nothing(1 + even / c);
		h *= d * c;
		d = 1 / not_nothing(1 + odd * d);
		c = not_nothing(1 + odd / c);
		h *= d * c;
		if (fabs(d * c - 1) < 1e-14)
			break;
	}
	return h;
}

/* The regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The probability of a t beyond plus or minus this one (26.7.1 there). */
static double beyond(double dof, double t)
{
	return beta(dof / 2, 0.5, dof / (dof + t * t));
}

double statistics_t95(double dof)
{
	double low = log(1.0), high = log(1e9);

	if (!(dof > 0))
		return NAN;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (beyond(dof, exp(middle)) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return exp(high);
}
