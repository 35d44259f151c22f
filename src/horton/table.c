/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* A Horton table as a whole: its memory, its size, a walk over it, and what is always true of it.
 */
#include "horton/bucket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "horton/memory.h"

struct horton *horton_create(uint32_t buckets, uint64_t seed)
{
	struct horton *t;

	_Static_assert(sizeof(struct horton_bucket) == HORTON_LINE, "a bucket is one cache line");
	if (!buckets || buckets > HORTON_BUCKETS_MAX) {
		errno = EINVAL;
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->bucket = horton_memory(buckets * sizeof(struct horton_bucket));
	if (!t->bucket) {
		free(t);
		return NULL;
	}
	t->buckets = buckets;
	for (unsigned i = 0; i < 3; i++)
		t->seed[i] = horton_mix((uint32_t)seed + i, (uint32_t)(seed >> 32));
	return t;
}

void horton_destroy(struct horton *t)
{
	if (t)
		free(t->bucket);
	free(t);
}

uint32_t horton_buckets_for(uint64_t items, double load)
{
	double buckets;

	if (!(load > 0 && load <= 1))
		return 0;
	buckets = (double)items / load / HORTON_SLOTS;
	return buckets < HORTON_BUCKETS_MAX ? (uint32_t)buckets + 1 : 0;
}

void horton_use(struct horton *t, enum horton_path path)
{
	t->path = path;
}

uint64_t horton_items(const struct horton *t)
{
	return t->items + t->has_free_key;
}

uint32_t horton_buckets(const struct horton *t)
{
	return t->buckets;
}

bool horton_next(const struct horton *t, uint64_t *cursor, uint32_t *key, uint32_t *value)
{
	uint64_t end = (uint64_t)t->buckets * HORTON_SLOTS;

	while (*cursor < end) {
		const struct horton_bucket *b = &t->bucket[*cursor / HORTON_SLOTS];
		int s = *cursor % HORTON_SLOTS;

		++*cursor;
		if (s < bucket_slots(b) && b->key[s] != HORTON_FREE) {
			*key = b->key[s];
			*value = b->value[s];
			return true;
		}
	}
	if (*cursor > end || !t->has_free_key)
		return false;
	++*cursor;
	*key = HORTON_FREE;
	*value = t->free_key_value;
	return true;
}

static int copy_items(struct horton *to, const struct horton *from)
{
	uint64_t cursor = 0;
	uint32_t key, value;

	while (horton_next(from, &cursor, &key, &value))
		if (horton_insert(to, key, value) == HORTON_FULL)
			return -1;
	return 0;
}

int horton_resize(struct horton *t, uint32_t buckets)
{
	while (buckets && buckets <= HORTON_BUCKETS_MAX) {
		struct horton next = *t;
		int rc;

		next.bucket = horton_memory(buckets * sizeof(struct horton_bucket));
		if (!next.bucket)
			return -1;
		next.buckets = buckets;
		next.items = 0;
		rc = copy_items(&next, t);
		if (!rc) {
			free(t->bucket);
			*t = next;
			return 0;
		}
		free(next.bucket);
		buckets += buckets / 2 + 1;
	}
	errno = EINVAL;
	return -1;
}

void horton_measure(const struct horton *t, struct horton_shape *shape)
{
	memset(shape, 0, sizeof(*shape));
	shape->items = t->items;
	shape->buckets = t->buckets;
	for (uint32_t i = 0; i < t->buckets; i++) {
		const struct horton_bucket *b = &t->bucket[i];

		for (int s = 0; s < bucket_slots(b); s++)
			shape->secondary +=
				b->key[s] != HORTON_FREE && horton_primary(t, b->key[s]) != i;
		if (!bucket_is_b(b))
			continue;
		shape->with_entries++;
		for (unsigned tag = 0; tag < HORTON_TAGS; tag++)
			shape->entries += bucket_entry(b, tag) != 0;
	}
}

/* Whether an item of primary bucket `primary` with that tag is in the bucket to which its entry
 * leads. */
static bool entry_is_needed(const struct horton *t, uint32_t primary, unsigned tag, unsigned way)
{
	uint32_t at = horton_way(t, primary, tag, way);
	const struct horton_bucket *b = &t->bucket[at];

	for (int s = 0; s < bucket_slots(b); s++)
		if (at != primary && b->key[s] != HORTON_FREE &&
			horton_primary(t, b->key[s]) == primary && horton_tag(t, b->key[s]) == tag)
			return true;
	return false;
}

bool horton_check(const struct horton *t)
{
	uint64_t items = 0;

	for (uint32_t i = 0; i < t->buckets; i++) {
		const struct horton_bucket *b = &t->bucket[i];

		for (int s = 0; s < bucket_slots(b); s++) {
			struct horton_place place;

			if (b->key[s] == HORTON_FREE)
				continue;
			items++;
			/* A key that is there twice is found at one place only. */
			place = horton_find(t, b->key[s]);
			if (place.bucket != b || place.slot != s)
				return false;
		}
		for (unsigned tag = 0; bucket_is_b(b) && tag < HORTON_TAGS; tag++) {
			unsigned way = bucket_entry(b, tag);

			if (way && !entry_is_needed(t, i, tag, way))
				return false;
		}
	}
	return items == t->items;
}
