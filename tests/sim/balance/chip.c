/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interleaves the instructions of programs and looks each reference up in two caches. */
#include "sim/balance/chip.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/balance/program.h"
#include "sim/world/draw.h"
#include "striping/reuse/histogram.h"

#define L1_WAYS 4
#define L2_WAYS 12
#define PAGE_LINES 64
#define EMPTY UINT64_MAX

/* Each set has its lines in order, the one that was used last first. */
struct cache {
	uint64_t *line;
	uint64_t sets;
	int ways;
	enum replacement replacement;
	uint64_t seed, draws;
};

static void make_cache(
	struct cache *c, uint64_t bytes, int ways, enum replacement replacement, uint64_t seed)
{
	uint64_t lines = bytes / REUSE_LINE;

	*c = (struct cache){.line = malloc(lines * sizeof(*c->line)),
		.sets = lines / (uint64_t)ways,
		.ways = ways,
		.replacement = replacement,
		.seed = seed};
	if (!c->line)
		abort();
	memset(c->line, 0xff, lines * sizeof(*c->line));
}

/* Whether the line is there; if not, it takes the place of another. */
static bool look_up(struct cache *c, uint64_t line)
{
	uint64_t *set = &c->line[line % c->sets * (uint64_t)c->ways];
	int way = 0;

	while (way < c->ways - 1 && set[way] != line)
		way++;
	if (set[way] == line) {
		memmove(&set[1], set, (size_t)way * sizeof(*set));
		set[0] = line;
		return true;
	}
	if (c->replacement == REPLACE_RANDOM && set[way] != EMPTY)
		way = draw_below(c->seed, DRAW_REPLACED, c->draws++, 0, c->ways);
	memmove(&set[1], set, (size_t)way * sizeof(*set));
	set[0] = line;
	return false;
}

/* Pages lie anywhere in memory, so that programs do not all use the same sets. */
static uint64_t physical(uint64_t seed, int context, uint64_t line)
{
	uint64_t page = draw_bits(seed, DRAW_PAGE, (uint64_t)context, line / PAGE_LINES) >> 16;

	return page * PAGE_LINES + line % PAGE_LINES;
}

struct core {
	struct program program[CONTEXTS];
	uint64_t ready[CONTEXTS]; /* the cycle in which it goes on */
	struct cache l1, l2;
	uint64_t seed;
	struct chip_result count;
};

/* How many cycles a reference takes. */
static uint64_t refer(struct core *core, int context)
{
	uint64_t line = program_reference(&core->program[context]);

	core->count.references++;
	if (look_up(&core->l1, line | (uint64_t)context << 40))
		return L1_CYCLES;
	core->count.l1_misses++;
	if (look_up(&core->l2, physical(core->seed, context, line)))
		return L1_CYCLES + L2_CYCLES;
	core->count.l2_misses++;
	return L1_CYCLES + L2_CYCLES + MEMORY_CYCLES;
}

static void execute(struct core *core, int context, uint64_t now)
{
	struct program *p = &core->program[context];
	uint64_t takes = 1;

	core->count.instructions++;
	p->instructions_left -= 1;
	if (p->instructions_left <= 0) {
		p->instructions_left += 1 / p->kind->rate;
		takes = refer(core, context);
	}
	core->ready[context] = now + takes;
}

static void run(struct core *core, uint64_t from, uint64_t to)
{
	int turn = 0;

	for (uint64_t now = from; now < to;) {
		uint64_t next = UINT64_MAX;
		int i;

		for (i = 0; i < CONTEXTS; i++) {
			int context = (turn + i) % CONTEXTS;

			if (core->ready[context] <= now) {
				execute(core, context, now++);
				turn = context + 1;
				break;
			}
			if (core->ready[context] < next)
				next = core->ready[context];
		}
		if (i == CONTEXTS)
			now = next;
	}
}

void chip_run(const int kind[CONTEXTS], uint64_t l2_bytes, enum replacement replacement,
	uint64_t cycles, uint64_t seed, struct chip_result *result)
{
	struct core core = {.seed = seed};

	make_cache(&core.l1, L1_BYTES, L1_WAYS, REPLACE_OLDEST, seed);
	make_cache(&core.l2, l2_bytes, L2_WAYS, replacement, seed);
	for (int i = 0; i < CONTEXTS; i++)
		program_start(&core.program[i], kind[i], seed);
	run(&core, 0, cycles);
	memset(&core.count, 0, sizeof(core.count));
	run(&core, cycles, 2 * cycles);
	core.count.cycles = cycles;
	*result = core.count;
	free(core.l1.line);
	free(core.l2.line);
}
