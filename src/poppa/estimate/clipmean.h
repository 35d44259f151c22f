/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A running mean that single wild values do not move, in constant memory. */
#pragma once

#include <stdint.h>

/* Starts as zeros, but for spread: about the standard deviation that is to be expected. */
struct clipmean {
	uint64_t count;
	double mean;
	double m2;     /* sum of squared deviations */
	double spread; /* running standard deviation */
};

/* Takes a value. One farther from the mean than 4 spreads counts as if it were that far. */
void clipmean_add(struct clipmean *m, double value);

/* Squared standard error of the mean; INFINITY with less than 2 values. */
double clipmean_variance(const struct clipmean *m);
