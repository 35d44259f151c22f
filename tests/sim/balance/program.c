/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes up the references of programs that use caches well, badly, and in between. */
#include "sim/balance/program.h"

#include <string.h>

#include "sim/world/draw.h"

/* Parts lie so many lines apart, so that they have none in common. */
#define PART_APART (UINT64_C(1) << 24)

/* clang-format off */
/* The first four are like crafty, gzip and vpr (place and route), of which TR-17-04 tells, or whose
 * sources show, how they use memory; the others go from very good to very bad. */
const struct program_kind program_kinds[PROGRAMS] = {
	{"board", "small and without order, as a program that plays chess", 0.30,
		{{PART_RANDOM, 0.87, 48, 4, 0, 0}, {PART_RANDOM, 0.13, 640, 1, 0, 0}}},
	{"window", "large, in small chunks, as one that compresses", 0.30,
		{{PART_RANDOM, 0.80, 48, 4, 0, 0}, {PART_CHUNKS, 0.20, 3200, 2, 96, 400}}},
	{"place", "mostly a middling table, sometimes a large one", 0.35,
		{{PART_RANDOM, 0.85, 64, 4, 0, 0}, {PART_RANDOM, 0.10, 512, 1, 0, 0},
		 {PART_RANDOM, 0.05, 8192, 2, 0, 0}}},
	{"route", "the same, smaller", 0.35,
		{{PART_RANDOM, 0.85, 64, 4, 0, 0}, {PART_RANDOM, 0.10, 384, 1, 0, 0},
		 {PART_RANDOM, 0.05, 4096, 2, 0, 0}}},
	{"tight", "fits in the L1 cache, nearly", 0.25,
		{{PART_RANDOM, 0.90, 64, 4, 0, 0}, {PART_RANDOM, 0.10, 128, 1, 0, 0}}},
	{"sweep", "96 KB from end to end, over and over", 0.30,
		{{PART_RANDOM, 0.50, 32, 4, 0, 0}, {PART_SWEEP, 0.50, 1536, 8, 0, 0}}},
	{"stream", "8 MB from end to end", 0.35,
		{{PART_RANDOM, 0.40, 32, 4, 0, 0}, {PART_SWEEP, 0.60, 131072, 8, 0, 0}}},
	{"scatter", "anywhere in 2 MB", 0.35,
		{{PART_RANDOM, 0.88, 48, 4, 0, 0}, {PART_RANDOM, 0.12, 32768, 1, 0, 0}}},
};
/* clang-format on */

void program_start(struct program *p, int kind, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->kind = &program_kinds[kind];
	p->seed = seed;
}

static void go_on(struct program *p, int i, uint64_t bits)
{
	const struct part *part = &p->kind->part[i];

	p->at[i].left = part->run;
	switch (part->way) {
	case PART_RANDOM:
		p->at[i].line = bits % part->lines;
		break;
	case PART_SWEEP:
		p->at[i].line = (p->at[i].line + 1) % part->lines;
		break;
	case PART_CHUNKS:
		p->at[i].visits++;
		p->at[i].line =
			(p->at[i].visits / part->visits * part->chunk + bits % part->chunk) %
			part->lines;
		break;
	}
}

uint64_t program_reference(struct program *p)
{
	uint64_t bits =
		draw_bits(p->seed, DRAW_REFERENCE, (uint64_t)(p->kind - program_kinds), p->step++);
	/* 24 bits choose the part, the others the line. */
	double chosen = (double)(bits >> 40) / (double)(1 << 24);
	int i = 0;

	while (i < PARTS_MAX - 1 && p->kind->part[i + 1].lines && chosen >= p->kind->part[i].share)
		chosen -= p->kind->part[i++].share;
	if (!p->at[i].left)
		go_on(p, i, bits & ((UINT64_C(1) << 40) - 1));
	p->at[i].left--;
	return (uint64_t)i * PART_APART + p->at[i].line;
}
