/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Lookups in a Horton table: one by one, and many at once (sections 5.4.1 and 5.4.2). */
#include "horton/bucket.h"
#include "horton/pipeline.h"

bool horton_lookup(const struct horton *t, uint32_t key, uint32_t *value)
{
	struct horton_place place;

	if (key == HORTON_FREE) {
		if (t->has_free_key && value)
			*value = t->free_key_value;
		return t->has_free_key;
	}
	place = horton_find(t, key);
	if (place.bucket && value)
		*value = place.bucket->value[place.slot];
	return place.bucket;
}

unsigned horton_lines(const struct horton *t, uint32_t key)
{
	return key == HORTON_FREE ? 0 : horton_find(t, key).lines;
}

static const struct horton_bucket *first_bucket(const void *table, uint32_t key)
{
	const struct horton *t = table;

	return &t->bucket[horton_primary(t, key)];
}

static const struct horton_bucket *second_bucket(
	const void *table, const struct horton_bucket *first, uint32_t key)
{
	return horton_secondary(table, first, key);
}

#if defined(__x86_64__)
static inline __attribute__((target("avx2"))) int find_avx2(
	const struct horton_bucket *b, uint32_t key)
{
	/* Remap entries can look like the key. */
	int slots = bucket_same_avx2(b, key) & (0xff >> bucket_is_b(b));

	return __builtin_ffs(slots) - 1;
}

static __attribute__((target("avx2"))) size_t look_up_avx2(const struct horton *t,
	const uint32_t *outside, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
	static const struct pipeline how = {first_bucket, second_bucket, find_avx2};

	return pipeline_look_up(&how, t, outside, keys, n, values, found);
}
#endif

size_t horton_lookup_many(
	const struct horton *t, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
	static const struct pipeline how = {first_bucket, second_bucket, bucket_find};
	const uint32_t *outside = t->has_free_key ? &t->free_key_value : NULL;

#if defined(__x86_64__)
	if (t->path == HORTON_BEST && __builtin_cpu_supports("avx2"))
		return look_up_avx2(t, outside, keys, n, values, found);
#endif
	return pipeline_look_up(&how, t, outside, keys, n, values, found);
}
