/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs that share caches are expected to do: miss rates, and how fast they are. */
#pragma once

#include "striping/reuse/miss_rate.h"

#define FORECAST_LEVELS_MAX 3

/* A processor with caches that all of a group share. It executes an instruction of each program in
 * a cycle, but for the cycles that references take longer. */
struct forecast_machine {
	double hit_cycles; /* that a reference adds that misses nowhere */
	int levels;
	struct {
		double lines;
		double miss_cycles;   /* that a miss in it adds */
	} level[FORECAST_LEVELS_MAX]; /* the smallest first; each sees all references */
};

/*
 * Expects what count programs do together: sets their rates, in references per cycle, and returns
 * the misses per reference of the last level, and of all levels in miss_rate, which may be NULL.
 * Programs that miss more make fewer references, and so take less of a cache than their histograms
 * tell; rates and miss rates are found in turn, until they agree.
 */
double forecast_group(const struct forecast_machine *machine, struct miss_rate_member *m, int count,
	enum miss_rate_method method, double miss_rate[FORECAST_LEVELS_MAX]);
