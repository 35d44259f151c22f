/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Lookups in a Horton table: one by one, and many at once (sections 5.4.1 and 5.4.2). */
#include "horton/bucket.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* How many primary buckets are on their way from memory at once, and how many secondary ones. */
#define AHEAD 16
#define LATER 16

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

/* Keys whose second bucket is on its way. */
struct later {
	const struct horton_bucket *bucket;
	size_t index;
};

/*
 * The two paths differ in how they search a bucket, and are compiled from this. A compiler makes
 * the call of `find` part of its caller, as this is always inlined.
 */
static inline __attribute__((always_inline)) size_t look_up_all(const struct horton *t,
	const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found,
	int (*find)(const struct horton_bucket *, uint32_t))
{
	struct later later[LATER];
	uint32_t primary[AHEAD];
	size_t count = 0, waiting = 0;

	for (size_t i = 0; i < n + AHEAD; i++) {
		const struct horton_bucket *b;
		int s;

		if (i >= AHEAD && keys[i - AHEAD] == HORTON_FREE) {
			found[i - AHEAD] = t->has_free_key;
			if (t->has_free_key)
				values[i - AHEAD] = t->free_key_value;
			count += t->has_free_key;
		} else if (i >= AHEAD) {
			size_t at = i - AHEAD;
			uint32_t home = primary[at % AHEAD];

			b = &t->bucket[home];
			s = find(b, keys[at]);
			found[at] = s >= 0;
			if (s >= 0) {
				values[at] = b->value[s];
				count++;
			} else if (bucket_is_b(b)) {
				unsigned tag = horton_tag(t, keys[at]), way = bucket_entry(b, tag);

				if (way) {
					later[waiting].bucket =
						&t->bucket[horton_way(t, home, tag, way)];
					later[waiting].index = at;
					__builtin_prefetch(later[waiting++].bucket);
				}
			}
		}
		if (i < n) {
			primary[i % AHEAD] = horton_primary(t, keys[i]);
			__builtin_prefetch(&t->bucket[primary[i % AHEAD]]);
		}
		if (waiting < LATER && i + 1 < n + AHEAD)
			continue;
		while (waiting) {
			struct later *l = &later[--waiting];

			s = find(l->bucket, keys[l->index]);
			if (s < 0)
				continue;
			values[l->index] = l->bucket->value[s];
			found[l->index] = 1;
			count++;
		}
	}
	return count;
}

#if defined(__x86_64__)
static inline __attribute__((target("avx2"))) int find_avx2(
	const struct horton_bucket *b, uint32_t key)
{
	__m256i all = _mm256_load_si256((const __m256i *)b->key);
	__m256i same = _mm256_cmpeq_epi32(all, _mm256_set1_epi32((int)key));
	/* Remap entries can look like the key. */
	int slots = _mm256_movemask_ps(_mm256_castsi256_ps(same)) & (0xff >> bucket_is_b(b));

	return __builtin_ffs(slots) - 1;
}

static __attribute__((target("avx2"))) size_t look_up_avx2(
	const struct horton *t, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
	return look_up_all(t, keys, n, values, found, find_avx2);
}
#endif

size_t horton_lookup_many(
	const struct horton *t, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
#if defined(__x86_64__)
	if (t->path == HORTON_BEST && __builtin_cpu_supports("avx2"))
		return look_up_avx2(t, keys, n, values, found);
#endif
	return look_up_all(t, keys, n, values, found, bucket_find);
}
