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
	uint32_t oldest, newest; /* of those that have no use; UINT32_MAX: none */
};

struct farm_keys *farm_keys_create(uint64_t seed)
{
	struct farm_keys *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->oldest = k->newest = UINT32_MAX;
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

static void make_idle(struct farm_keys *k, uint32_t number)
{
	k->known[number].older = k->newest;
	k->known[number].newer = UINT32_MAX;
	if (k->newest != UINT32_MAX)
		k->known[k->newest].newer = number;
	else
		k->oldest = number;
	k->newest = number;
}

static void take_out(struct farm_keys *k, uint32_t number)
{
	const struct farm_key *key = &k->known[number];

	if (key->older != UINT32_MAX)
		k->known[key->older].newer = key->newer;
	else
		k->oldest = key->newer;
	if (key->newer != UINT32_MAX)
		k->known[key->newer].older = key->older;
	else
		k->newest = key->older;
}

/* A number for a new key: that of one that is forgotten, or the next one; FARM_NO_KEY where there
 * is no memory. */
static uint32_t new_number(struct farm_keys *k)
{
	uint32_t number = k->oldest;

	if (k->count >= FARM_KEYS_MAX && number != UINT32_MAX) {
		take_out(k, number);
		horton_erase(k->table, k->known[number].hash);
		return number;
	}
	if (k->count == k->room) {
		uint32_t room = k->room ? 2 * k->room : 64;
		struct farm_key *known =
			k->room < UINT32_MAX / 4 ? realloc(k->known, room * sizeof(*known)) : NULL;

		if (!known)
			return FARM_NO_KEY;
		k->known = known;
		k->room = room;
	}
	return k->count++;
}

uint32_t farm_keys_take(struct farm_keys *k, const char *text, size_t len)
{
	uint32_t h, number;
	uint64_t all;

	if (!len)
		return FARM_NO_KEY;
	all = fnv1a(FNV1A_START, text, len);
	h = (uint32_t)(all ^ all >> 32);
	if (horton_lookup(k->table, h, &number)) {
		if (!k->known[number].uses++)
			take_out(k, number);
		return number;
	}
	number = new_number(k);
	if (number == FARM_NO_KEY)
		return FARM_NO_KEY;
	/* Where there is no memory for a larger table, the next task with this key gets another
	 * number. */
	while (horton_insert(k->table, h, number) == HORTON_FULL &&
		!horton_resize(k->table, 2 * horton_buckets(k->table)))
		;
	k->known[number] = (struct farm_key){.worker = UINT32_MAX, .hash = h, .uses = 1};
	return number;
}

void farm_keys_release(struct farm_keys *k, uint32_t number)
{
	if (number != FARM_NO_KEY && !--k->known[number].uses)
		make_idle(k, number);
}

struct farm_key *farm_keys_at(struct farm_keys *k, uint32_t number)
{
	return &k->known[number];
}
