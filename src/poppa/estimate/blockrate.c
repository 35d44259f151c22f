/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works out the rates of a block's windows. */
#include "poppa/estimate/blockrate.h"

#include <math.h>

#include "statistics/statistics.h"

double blockrate_window(const struct est_window *w, bool cycles)
{
	double per = cycles ? w->cycles : w->dur_ns;
	double rate = w->progress / per;

	/* The upper bound only keeps squares and sums of broken input finite. */
	if (!(w->progress >= 0) || !(per > 0) || !(rate < 1e100))
		return NAN;
	return rate > 1e-100 ? rate : 0;
}

static bool region_has_cycles(const struct est_window *w, int n)
{
	for (int i = 0; i < n; i++)
		if (w[i].progress > 0 && !(w[i].cycles > 0))
			return false;
	return true;
}

bool blockrate_has_cycles(const struct est_block *block)
{
	return region_has_cycles(block->before, block->before_n) &&
	       region_has_cycles(block->during, block->during_n) &&
	       region_has_cycles(block->after, block->after_n);
}

static int add(const struct est_window *w, int first, int n, bool cycles, double *v)
{
	int count = 0;

	for (int i = first; i < n; i++) {
		double rate = blockrate_window(&w[i], cycles);

		if (!isnan(rate))
			v[count++] = rate;
	}
	return count;
}

bool blockrate(const struct est_block *b, double *co, double *solo)
{
	bool cycles = blockrate_has_cycles(b);
	double v[2 * EST_MAX_WINDOWS];
	int n;

	n = add(b->before, b->before_n > 1, b->before_n, cycles, v);
	n += add(b->after, 0, b->after_n, cycles, v + n);
	*co = statistics_median(v, n);
	n = add(b->during, 0, b->during_n, cycles, v);
	*solo = statistics_median(v, n);
	return *co > 0 && *solo > 0;
}
