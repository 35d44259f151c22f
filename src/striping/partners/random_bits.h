/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that follow from what they are for, so that they can be made again when asked for.
 */
#pragma once

#include <stdint.h>

/* 64 bits without a pattern, the same for the same x (SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
 * To mix several numbers: random_mix(random_mix(a) ^ b). */
uint64_t random_mix(uint64_t x);

/* Evenly distributed in [0, 1), from mixed bits. */
double random_uniform(uint64_t bits);

/* Normally distributed, mean 0 and standard deviation 1 (Box, Muller, 1958), from mixed bits. */
double random_normal(uint64_t bits);
