/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers where nothing hangs on their quality, and where a run must be the same again. */
#pragma once

#include <stdint.h>

/* Marsaglia's xorshift64 (Journal of Statistical Software, 2003). The state is never 0. */
static inline uint64_t xorshift_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline uint32_t xorshift_32(uint64_t *state)
{
	return (uint32_t)(xorshift_next(state) >> 32);
}

/* From 0 up to, but without, 1. */
static inline double xorshift_share(uint64_t *state)
{
	return (double)(xorshift_next(state) >> 11) / 9007199254740992.0;
}
