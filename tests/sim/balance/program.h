/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Eight made-up programs: which lines they refer to, one after the other. */
#pragma once

#include <stdint.h>

#define PROGRAMS 8
#define PARTS_MAX 3

enum part_way {
	PART_RANDOM, /* any of its lines */
	PART_SWEEP,  /* one line after the other, over and over */
	PART_CHUNKS  /* lines of a chunk at random, for a while, then of the next chunk */
};

/* A part of the memory of a program. */
struct part {
	enum part_way way;
	double share;    /* of the references, but that they come in runs */
	uint32_t lines;  /* how large it is */
	uint32_t run;    /* references in a row to a line */
	uint32_t chunk;  /* lines of a chunk */
	uint32_t visits; /* lines visited before the next chunk */
};

struct program_kind {
	const char *name, *what;
	double rate; /* references per instruction */
	struct part part[PARTS_MAX];
};

extern const struct program_kind program_kinds[PROGRAMS];

/* A program at work. */
struct program {
	const struct program_kind *kind;
	uint64_t seed, step;
	double instructions_left; /* until the next reference */
	struct {
		uint64_t line, left, visits;
	} at[PARTS_MAX];
	int part; /* of the reference before */
};

void program_start(struct program *p, int kind, uint64_t seed);

/* The line of the next reference; numbers of different programs may be the same. */
uint64_t program_reference(struct program *p);
