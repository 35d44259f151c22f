/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds quantiles. */
#include "accounting/bill/spread.h"

#include <math.h>
#include <stdlib.h>

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct spread spread_of(double *v, int n)
{
	struct spread s = {{NAN, NAN, NAN, NAN, NAN}};

	if (!n)
		return s;
	qsort(v, (size_t)n, sizeof(*v), compare_reals);
	for (int i = 0; i < 5; i++) {
		double at = (n - 1) * i / 4.0;
		int low = (int)at;

		s.at[i] = low + 1 < n ? v[low] + (at - low) * (v[low + 1] - v[low]) : v[low];
	}
	return s;
}
