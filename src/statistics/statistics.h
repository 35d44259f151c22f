/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Medians and quantiles, for estimates, trials and bills. */
#pragma once

/* Sorts v[0..n), least first. */
void statistics_sort(double *v, int n);

/* Median of v[0..n), which gets sorted; NAN for n = 0. */
double statistics_median(double *v, int n);

/* Two-sided 95 % quantile of Student's t with that many degrees of freedom, a
 * fraction above 0; NAN of none. */
double statistics_t95(double dof);
