/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works out weighted means and their intervals. */
#include "accounting/bill/student.h"

#include <math.h>

/* Fewer degrees of freedom make an interval that says nothing: t is above 3,000. */
#define LEAST_DOF 0.25
#define FRACTION_STEPS 300
#define NEARLY_NOTHING 1e-300

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

double student_t95(double dof)
{
	double low = log(1.0), high = log(1e9);

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (beyond(dof, exp(middle)) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return exp(high);
}

/* The half of the interval by how much the values differ; NAN: they do not tell. */
static double half_by_spread(const struct student_value *v, int n, const struct student *s)
{
	double squares = 0, off = 0, as_many;

	for (int i = 0; i < n; i++) {
		if (!(v[i].weight > 0))
			continue;
		squares += v[i].weight * v[i].weight;
		off += v[i].weight * (v[i].value - s->mean) * (v[i].value - s->mean);
	}
	as_many = s->weight * s->weight / squares;
	if (s->n < 2 || as_many - 1 < LEAST_DOF)
		return NAN;
	return student_t95(as_many - 1) * sqrt(off / (s->weight - squares / s->weight) / as_many);
}

/* The same by the values' own intervals; 0 where none is known. */
static double half_by_values(const struct student_value *v, int n, double weight)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		if (v[i].weight > 0 && v[i].half > 0)
			sum += v[i].weight * v[i].half * v[i].weight * v[i].half;
	return sqrt(sum) / weight;
}

struct student student_of(const struct student_value *v, int n)
{
	struct student s = {.mean = NAN, .lo = NAN, .hi = NAN};
	double sum = 0, half;

	for (int i = 0; i < n; i++) {
		if (!(v[i].weight > 0))
			continue;
		s.n++;
		s.weight += v[i].weight;
		sum += v[i].weight * v[i].value;
	}
	if (!s.n)
		return s;
	s.mean = sum / s.weight;
	half = half_by_spread(v, n, &s);
	if (isnan(half))
		return s;
	half = fmax(half, half_by_values(v, n, s.weight));
	s.lo = s.mean - half;
	s.hi = s.mean + half;
	return s;
}
