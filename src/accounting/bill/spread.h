/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far values are spread: the least, the quartiles and the most. */
#pragma once

/* The least value, the three quartiles, and the largest value; all NAN without values. */
struct spread {
	double at[5];
};

/* Quantiles by linear interpolation; sorts v. */
struct spread spread_of(double *v, int n);
