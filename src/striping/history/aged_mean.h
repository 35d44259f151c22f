/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mean of runs in which later runs outweigh earlier ones. */
#pragma once

#include <stdbool.h>

/* All 0: of no run. */
struct aged_mean {
	int runs; /* how many equal ones would make the mean as certain */
	double mean, variance;
	long long last; /* the latest run, unix time */
};

/*
 * Adds a run. Without age all runs count the same until there are `most`, and then the older ones
 * fade. A run after a break takes at least what has faded meanwhile: half for each 30 days.
 */
void aged_mean_add(struct aged_mean *m, double value, long long now, int most);

/* What is left at `now` of a weight of the time `last`: half for each 30 days. Above 0. */
double aged_left(long long last, long long now);

/* Whether what was measured at `last` is too old at `now` to tell something by: 90 days. */
bool aged_out(long long last, long long now);

/* Sets a time that is later than `now` to it: the clock was wrong. */
void aged_no_later(long long *when, long long now);
