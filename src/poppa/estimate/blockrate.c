/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes median rates out of a block. */
#include "poppa/estimate/blockrate.h"

#include <math.h>

#include "poppa/estimate/blockfit.h"

static bool has_cycles(const struct est_window *w, int n)
{
	for (int i = 0; i < n; i++)
		if (!isnan(w[i].progress) && w[i].progress > 0 && !(w[i].cycles > 0))
			return false;
	return true;
}

static int add(const struct est_window *w, int first, int n, bool cycles, double *v)
{
	int count = 0;

	for (int i = first; i < n; i++) {
		double per = cycles ? w[i].cycles : w[i].dur_ns;

		if (!isnan(w[i].progress) && per > 0)
			v[count++] = w[i].progress / per;
	}
	return count;
}

bool blockrate(const struct est_block *b, double *co, double *solo)
{
	bool cycles = has_cycles(b->before, b->before_n) && has_cycles(b->during, b->during_n) &&
		      has_cycles(b->after, b->after_n);
	double v[2 * EST_MAX_WINDOWS];
	int n;

	n = add(b->before, b->before_n > 1, b->before_n, cycles, v);
	n += add(b->after, 0, b->after_n, cycles, v + n);
	*co = blockfit_median(v, n);
	n = add(b->during, 0, b->during_n, cycles, v);
	*solo = blockfit_median(v, n);
	return *co > 0 && *solo > 0;
}
