/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes random numbers from what they are for. */
#include "striping/partners/random_bits.h"

#include <math.h>

uint64_t random_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

double random_uniform(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

double random_normal(uint64_t bits)
{
	/* Never 0, of which there is no logarithm. */
	double radius = sqrt(-2 * log(1 - random_uniform(bits)));

	return radius * cos(2 * M_PI * random_uniform(random_mix(bits)));
}
