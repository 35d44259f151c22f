/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which worker has last had a task with a key: the tasks' affinity. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number of tasks that had no key. */
#define FARM_NO_KEY UINT32_MAX

struct farm_task;

/* What is known of one key. */
struct farm_key {
	uint32_t worker; /* that has started it, or to which such a task was given; UINT32_MAX: none
			  */
	struct farm_task *first,
		*newest; /* the schedule's: those with it that were given to workers */
	/* The table's own: */
	uint32_t hash, uses;
	uint32_t older, newer; /* among those that have no use; UINT32_MAX: none */
};

/* So many are remembered, in some 60 MB. For one more, the key is forgotten that has had no use for
 * the longest time. */
#define FARM_KEYS_MAX (UINT32_C(1) << 20)

struct farm_keys;

/* Returns NULL where there is no memory. */
struct farm_keys *farm_keys_create(uint64_t seed);
void farm_keys_destroy(struct farm_keys *keys);
/*
 * The number of a key, for one use, which farm_keys_release() ends; a new key gets a new number.
 * The number of a key that has no use may be given to another key. Keys whose hashes are alike (32
 * bits) share a number: their tasks then go to one worker, and nothing else happens. Returns
 * FARM_NO_KEY for an empty key, and where there is no memory for a new one: such a task has no
 * affinity.
 */
uint32_t farm_keys_take(struct farm_keys *keys, const char *text, size_t len);
void farm_keys_release(struct farm_keys *keys, uint32_t number); /* FARM_NO_KEY is allowed */
/* Valid until the next farm_keys_take(). */
struct farm_key *farm_keys_at(struct farm_keys *keys, uint32_t number);
