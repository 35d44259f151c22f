/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plain hash table with open addressing: linear probing. */
#include "probing.h"

#include <stdlib.h>

#include "horton/bucket.h"
#include "horton/memory.h"
#include "horton/pipeline.h"

#define AHEAD PIPELINE_AHEAD

struct item {
	uint32_t key, value;
};

struct probing {
	struct item *item;
	uint64_t slots;
};

static uint64_t place_of(const struct probing *t, uint32_t key)
{
	return horton_spread(horton_mix(key, 0x2545f491u), (uint32_t)t->slots);
}

static uint64_t next(const struct probing *t, uint64_t i)
{
	return i + 1 == t->slots ? 0 : i + 1;
}

struct probing *probing_create(uint64_t slots)
{
	struct probing *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->item = slots <= UINT32_MAX ? horton_memory(slots * sizeof(struct item)) : NULL;
	if (!t->item) {
		free(t);
		return NULL;
	}
	t->slots = slots;
	return t;
}

void probing_destroy(struct probing *t)
{
	if (t)
		free(t->item);
	free(t);
}

void probing_insert(struct probing *t, uint32_t key, uint32_t value)
{
	uint64_t i = place_of(t, key);

	while (t->item[i].key)
		i = next(t, i);
	t->item[i] = (struct item){key, value};
}

unsigned probing_lines(const struct probing *t, uint32_t key)
{
	uint64_t i = place_of(t, key), line = i / 8;
	unsigned lines = 1;

	for (; t->item[i].key && t->item[i].key != key; i = next(t, i)) {
		lines += i / 8 != line;
		line = i / 8;
	}
	return lines + (i / 8 != line);
}

size_t probing_lookup_many(
	const struct probing *t, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
	uint64_t at[AHEAD];
	size_t count = 0;

	for (size_t i = 0; i < n + AHEAD; i++) {
		if (i >= AHEAD) {
			size_t k = i - AHEAD;
			uint64_t slot = at[k % AHEAD];

			while (t->item[slot].key && t->item[slot].key != keys[k])
				slot = next(t, slot);
			found[k] = t->item[slot].key == keys[k];
			if (found[k])
				values[k] = t->item[slot].value;
			count += found[k];
		}
		if (i < n) {
			at[i % AHEAD] = place_of(t, keys[i]);
			__builtin_prefetch(&t->item[at[i % AHEAD]]);
		}
	}
	return count;
}
