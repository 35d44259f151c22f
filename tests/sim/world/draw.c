/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes random numbers from what they are for. */
#include "sim/world/draw.h"

#include "striping/partners/random_bits.h"

uint64_t draw_bits(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b)
{
	return random_mix(random_mix(random_mix(random_mix(seed) ^ (uint64_t)purpose) ^ a) ^ b);
}

double draw_uniform(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b)
{
	return random_uniform(draw_bits(seed, purpose, a, b));
}

int draw_below(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b, int n)
{
	return (int)(draw_uniform(seed, purpose, a, b) * n);
}

double draw_normal(uint64_t seed, enum draw_purpose purpose, uint64_t a, uint64_t b)
{
	return random_normal(draw_bits(seed, purpose, a, b));
}
