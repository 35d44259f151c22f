/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private caches with least recent use, and a directory of who has which line. */
#include "sim/farm/caches.h"

#include <stdlib.h>
#include <string.h>

struct caches {
	struct caches_shape shape;
	uint32_t sets;
	uint32_t *tags;    /* [core][set][way], the latest first: a line and 1, or 0 */
	uint64_t *holders; /* [line]: the cores that have it */
};

struct caches *caches_create(const struct caches_shape *shape)
{
	struct caches *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->shape = *shape;
	c->sets = shape->bytes / CACHE_LINE / shape->ways;
	c->tags = calloc((size_t)shape->cores * c->sets * shape->ways, sizeof(*c->tags));
	c->holders = calloc(shape->lines, sizeof(*c->holders));
	if (!c->tags || !c->holders) {
		caches_destroy(c);
		return NULL;
	}
	return c;
}

void caches_destroy(struct caches *c)
{
	if (!c)
		return;
	free(c->tags);
	free(c->holders);
	free(c);
}

static uint32_t *set_of(struct caches *c, uint32_t core, uint32_t line)
{
	return &c->tags[((size_t)core * c->sets + (line & (c->sets - 1))) * c->shape.ways];
}

static void lose(struct caches *c, uint32_t core, uint32_t line)
{
	uint32_t *set = set_of(c, core, line), way = 0;

	while (set[way] != line + 1)
		way++;
	memmove(&set[way], &set[way + 1], (c->shape.ways - 1 - way) * sizeof(*set));
	set[c->shape.ways - 1] = 0;
	c->holders[line] &= ~(UINT64_C(1) << core);
}

/* The nearest of others that have a line. */
static enum cache_place nearest(const struct caches *c, uint32_t core, uint64_t others)
{
	uint32_t n = c->shape.cores_of_socket;
	uint64_t socket = (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX) << core / n * n;

	return !others ? CACHE_MEMORY : others & socket ? CACHE_CORE : CACHE_SOCKET;
}

/* The farthest one, which a write has to wait for. */
static enum cache_place farthest(const struct caches *c, uint32_t core, uint64_t others)
{
	uint32_t n = c->shape.cores_of_socket;
	uint64_t socket = (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX) << core / n * n;

	return others & ~socket ? CACHE_SOCKET : CACHE_CORE;
}

enum cache_place caches_access(struct caches *c, uint32_t core, uint32_t line, bool write)
{
	uint64_t me = UINT64_C(1) << core, others = c->holders[line] & ~me;
	uint32_t *set = set_of(c, core, line), way = 0, last = c->shape.ways - 1;
	enum cache_place place = CACHE_OWN;

	if (c->holders[line] & me) {
		while (set[way] != line + 1)
			way++;
	} else {
		place = nearest(c, core, others);
		for (way = 0; way < last && set[way];)
			way++;
		if (set[way])
			c->holders[set[way] - 1] &= ~me;
		c->holders[line] |= me;
	}
	memmove(&set[1], &set[0], way * sizeof(*set));
	set[0] = line + 1;
	if (write && others) {
		place = farthest(c, core, others);
		while (others) {
			lose(c, (uint32_t)__builtin_ctzll(others), line);
			others &= others - 1;
		}
	}
	return place;
}
