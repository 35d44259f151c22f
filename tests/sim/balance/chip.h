/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A core with several contexts, an L1 and an L2 cache, run cycle by cycle. */
#pragma once

#include <stdint.h>

#define CONTEXTS 4
/* TR-17-04, sections 2 and 5: 8 KB and 4 ways, 12 ways; cycles that a reference takes at least, and
 * those that a miss in either cache adds. */
#define L1_BYTES 8192
#define L1_CYCLES 2
#define L2_CYCLES 22
#define MEMORY_CYCLES 120

enum replacement { REPLACE_OLDEST, REPLACE_RANDOM };

struct chip_result {
	uint64_t cycles, instructions, references;
	uint64_t l1_misses; /* these are the references that the L2 cache gets */
	uint64_t l2_misses;
};

/*
 * Runs these kinds of programs, one in a context, for so many cycles, after as many to warm up.
 * Each cycle one context that does not wait for a reference executes an instruction; they take
 * turns (Laudon et al., ASPLOS VI, 1994). oldest: the L1 cache always is.
 */
void chip_run(const int kind[CONTEXTS], uint64_t l2_bytes, enum replacement replacement,
	uint64_t cycles, uint64_t seed, struct chip_result *result);
