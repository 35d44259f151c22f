/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A running mean that single wild values do not move, in constant memory. */
#pragma once

#include <stdint.h>

/* Starts as zeros, but for spread: about the standard deviation that the values will have. */
struct clipmean {
	uint64_t count;
	double mean;
	double m2;     /* sum of squared deviations */
	double spread; /* running standard deviation */
};

/* Takes a value. One that is more than 4 spreads off the mean counts as 4 spreads off. */
void clipmean_add(struct clipmean *m, double value);

/* Squared standard error of the mean; INFINITY with fewer than 2 values. */
double clipmean_variance(const struct clipmean *m);
