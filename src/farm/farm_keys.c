/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of tasks: a Horton table from the hash of a key to what is known of it. */
#include "farm/farm_keys.h"

#include <stdlib.h>

#include "common/fnv1a.h"
#include "horton/poppa_horton.h"

#define FIRST_BUCKETS 16

struct farm_keys {
	struct horton *table;
	struct farm_key *known;
	uint32_t count, room;
};

struct farm_keys *farm_keys_create(uint64_t seed)
{
	struct farm_keys *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->table = horton_create(FIRST_BUCKETS, seed);
	if (!k->table) {
		free(k);
		return NULL;
	}
	return k;
}

void farm_keys_destroy(struct farm_keys *k)
{
	if (!k)
		return;
	horton_destroy(k->table);
	free(k->known);
	free(k);
}

uint32_t farm_keys_number(struct farm_keys *k, const char *text, size_t len)
{
	uint64_t all;
	uint32_t h, number;

	if (!len)
		return FARM_NO_KEY;
	all = fnv1a(FNV1A_START, text, len);
	h = (uint32_t)(all ^ all >> 32);
	if (horton_lookup(k->table, h, &number))
		return number;
	if (k->count == k->room) {
		uint32_t room = k->room ? 2 * k->room : 64;
		struct farm_key *known =
			k->room < UINT32_MAX / 4 ? realloc(k->known, room * sizeof(*known)) : NULL;

		if (!known)
			return FARM_NO_KEY;
		k->known = known;
		k->room = room;
	}
	while (horton_insert(k->table, h, k->count) == HORTON_FULL)
		if (horton_resize(k->table, 2 * horton_buckets(k->table)))
			return FARM_NO_KEY;
	k->known[k->count] = (struct farm_key){.worker = UINT32_MAX};
	return k->count++;
}

struct farm_key *farm_keys_at(struct farm_keys *k, uint32_t number)
{
	return &k->known[number];
}
