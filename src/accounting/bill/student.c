/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works out weighted means and their intervals. */
#include "accounting/bill/student.h"

#include <math.h>

#include "statistics/statistics.h"

/* Fewer degrees of freedom make an interval that says nothing: t is above 3,000. */
#define LEAST_DOF 0.25

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
	return statistics_t95(as_many - 1) *
	       sqrt(off / (s->weight - squares / s->weight) / as_many);
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
