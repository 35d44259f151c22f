/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of a plot's axis. */
#include "cli/page/page_axis.h"

#include <math.h>

double page_axis_step(double range, int steps)
{
	static const double mantissas[] = {1, 2, 2.5, 5, 10};
	double power = pow(10, floor(log10(range / steps)));

	for (int i = 0; i < 5; i++)
		if (power * mantissas[i] * steps >= range * 0.999999)
			return power * mantissas[i];
	return 10 * power;
}

int page_axis_digits(double step)
{
	int digits = 0;

	for (; digits < 6 && fabs(step - round(step)) > 1e-6 * step; digits++)
		step *= 10;
	return digits;
}
