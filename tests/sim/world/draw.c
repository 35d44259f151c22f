/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes random numbers from what they are for. */
#include "sim/world/draw.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t draw_bits(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b)
{
	return mix(mix(mix(mix(seed) ^ (uint64_t)purpose) ^ a) ^ b);
}

static double in_one(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

double draw_uniform(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b)
{
	return in_one(draw_bits(seed, purpose, a, b));
}

int draw_below(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b, int n)
{
	return (int)(draw_uniform(seed, purpose, a, b) * n);
}

double draw_normal(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b)
{
	uint64_t bits = draw_bits(seed, purpose, a, b);
	/* Never 0, of which there is no logarithm. */
	double radius = sqrt(-2 * log(1 - in_one(bits)));

	return radius * cos(2 * M_PI * in_one(mix(bits)));
}
