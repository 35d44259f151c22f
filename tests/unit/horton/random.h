/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random keys for the tests of Horton tables: the same ones on each run. */
#pragma once

#include <stdint.h>

/* xorshift64. The state is never 0. */
static inline uint32_t random_key(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}
