/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Solves for the prices of lanes. */
#include "striping/partners/lane_prices.h"

#include <math.h>

/* softness * log(sum of demand * exp((worth - price) / softness)): what class i gets from the best
 * partners that there are, nearly. The greatest exponent is taken out, or the sum would overflow.
 */
static double best_left(const double *worth, const double *demand, int classes, double softness,
	const double *price, int i)
{
	const double *row = worth + (long)i * classes;
	double most = -INFINITY, sum = 0;

	for (int j = 0; j < classes; j++)
		if (demand[j] > 0 && row[j] - price[j] > most)
			most = row[j] - price[j];
	for (int j = 0; j < classes; j++)
		if (demand[j] > 0)
			sum += demand[j] * exp((row[j] - price[j] - most) / softness);
	return most + softness * log(sum);
}

void lane_prices_solve(const double *worth, const double *demand, int classes, double softness,
	int rounds, double *price)
{
	double all = 0;

	for (int j = 0; j < classes; j++)
		all += demand[j] > 0 ? demand[j] : 0;
	if (!(all > 0))
		return;
	/* One class after the other by the newest prices. The mean with its old price keeps two
	 * classes that suit each other from passing the same sum to and fro. */
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < classes; i++) {
			double next = best_left(worth, demand, classes, softness, price, i) -
				      softness * log(all);

			price[i] = (price[i] + next) / 2;
		}
}
