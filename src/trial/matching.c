/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The best pairing by dynamic programming over sets of programs. */
#include "trial/matching.h"

#include <math.h>
#include <stdlib.h>

/* What has to be gained for a pair to be preferred over two compact runs. */
#define LEAST_GAIN 1e-9

double matching_best(const double *together, int n, int *partner)
{
	size_t sets = (size_t)1 << n;
	double *hours = calloc(sets, sizeof(*hours)), best;
	int *choice = calloc(sets, sizeof(*choice));

	for (int i = 0; i < n; i++)
		partner[i] = i;
	if (!hours || !choice) {
		free(hours);
		free(choice);
		return n;
	}
	/* hours[set]: of the programs in the set, the first of which runs beside choice[set]. */
	for (size_t set = 1; set < sets; set++) {
		int first = __builtin_ctzl(set);

		choice[set] = first;
		hours[set] = 1 + hours[set & (set - 1)];
		for (int j = first + 1; j < n; j++) {
			double with = (set >> j & 1) ? together[first * n + j] : NAN;

			with += hours[set & (set - 1) & ~((size_t)1 << j)];
			if (with < hours[set] - LEAST_GAIN) {
				hours[set] = with;
				choice[set] = j;
			}
		}
	}
	for (size_t set = sets - 1; set;) {
		int first = __builtin_ctzl(set), other = choice[set];

		partner[first] = other;
		partner[other] = first;
		set &= ~((size_t)1 << first | (size_t)1 << other);
	}
	best = hours[sets - 1];
	free(hours);
	free(choice);
	return best;
}
