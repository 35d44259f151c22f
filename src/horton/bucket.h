/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* One bucket of a Horton table, a cache line: slots, remap entries, and the hash functions that
 * lead to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "horton/poppa_horton.h"

#define HORTON_SLOTS 8
#define HORTON_TAGS                                                                                \
	21 /* three bits each in the 64 of a slot, and the bucket's type in the last bit */
#define HORTON_WAYS 7 /* secondary hash functions, 1 to 7; 0 is an entry that is not set */
#define HORTON_LINE 64

/* A slot with this key is free. The item that has it as its key is kept outside the buckets. */
#define HORTON_FREE 0u
#define HORTON_TYPE_B 0x80000000u

/*
 * Keys first, so that one instruction compares all eight. Type A: eight slots, and the top bit of
 * the last value is 0: a value that has it set goes into another slot. Type B (that bit is 1):
 * seven slots, and key[7] with the other bits of value[7] are the remap entries.
 */
struct horton_bucket {
	uint32_t key[HORTON_SLOTS];
	uint32_t value[HORTON_SLOTS];
};

struct horton {
	struct horton_bucket *bucket;
	uint32_t buckets;
	uint32_t seed[3]; /* of the primary, the tag and the secondary hash function */
	enum horton_path path;
	uint64_t items; /* in buckets */
	bool has_free_key;
	uint32_t free_key_value;
};

static inline bool bucket_is_b(const struct horton_bucket *b)
{
	return b->value[HORTON_SLOTS - 1] & HORTON_TYPE_B;
}

static inline int bucket_slots(const struct horton_bucket *b)
{
	return HORTON_SLOTS - bucket_is_b(b);
}

/* All remap entries of a type B bucket, with its type above them. */
static inline uint64_t bucket_entries(const struct horton_bucket *b)
{
	return (uint64_t)b->value[HORTON_SLOTS - 1] << 32 | b->key[HORTON_SLOTS - 1];
}

/* Of a type B bucket. Returns 0 or the number of a secondary hash function. */
static inline unsigned bucket_entry(const struct horton_bucket *b, unsigned tag)
{
	return bucket_entries(b) >> (3 * tag) & 7;
}

#if defined(__x86_64__)
/* Which of all eight numbers where keys are is the key: bit 0 for the first one. */
static inline __attribute__((target("avx2"))) int bucket_same_avx2(
	const struct horton_bucket *b, uint32_t key)
{
	__m256i all = _mm256_load_si256((const __m256i *)b->key);

	return _mm256_movemask_ps(
		_mm256_castsi256_ps(_mm256_cmpeq_epi32(all, _mm256_set1_epi32((int)key))));
}
#endif

/* Where the key is in this bucket, or -1. */
static inline int bucket_find(const struct horton_bucket *b, uint32_t key)
{
	int slots = bucket_slots(b);

	for (int s = 0; s < slots; s++)
		if (b->key[s] == key)
			return s;
	return -1;
}

/* A permutation of all 32-bit numbers, as section 5.5.1 supposes: each step can be undone. The
 * factors are odd; the first is 2^32 by the golden ratio, the second the fraction of the square
 * root of 2. */
static inline uint32_t horton_mix(uint32_t x, uint32_t seed)
{
	x ^= seed;
	x = (x ^ x >> 16) * 0x9e3779b1u;
	x = (x ^ x >> 15) * 0x6a09e667u;
	return x ^ x >> 16;
}

/* Spreads 32 bits over n places. */
static inline uint32_t horton_spread(uint32_t hash, uint32_t n)
{
	return (uint64_t)hash * n >> 32;
}

static inline uint32_t horton_primary(const struct horton *t, uint32_t key)
{
	return horton_spread(horton_mix(key, t->seed[0]), t->buckets);
}

static inline unsigned horton_tag(const struct horton *t, uint32_t key)
{
	return horton_spread(horton_mix(key, t->seed[1]), HORTON_TAGS);
}

/* The bucket to which way 1 to 7 leads from an entry. Items that share an entry share this bucket
 * (equation 5.1, with primes of ours in equation 5.2). */
static inline uint32_t horton_way(
	const struct horton *t, uint32_t primary, unsigned tag, unsigned way)
{
	static const uint32_t steps[8] = {
		7919, 104729, 611953, 1299709, 2750159, 15485863, 32452843, 49979687};
	uint32_t entry = primary * HORTON_TAGS + tag;

	return (horton_spread(horton_mix(entry, t->seed[2]), t->buckets) +
		       (uint64_t)steps[entry % 8] * way) %
	       t->buckets;
}

/* The bucket to which a key's entry in its primary bucket leads, or NULL. */
static inline struct horton_bucket *horton_secondary(
	const struct horton *t, const struct horton_bucket *primary, uint32_t key)
{
	unsigned tag, way;

	if (!bucket_is_b(primary))
		return NULL;
	tag = horton_tag(t, key);
	way = bucket_entry(primary, tag);
	return way ? &t->bucket[horton_way(t, (uint32_t)(primary - t->bucket), tag, way)] : NULL;
}

struct horton_place {
	struct horton_bucket *bucket; /* NULL: the key is nowhere */
	int slot;
	unsigned lines; /* that were read to know */
};

/* Section 5.4.1. The key is not the one that is kept outside. */
static inline struct horton_place horton_find(const struct horton *t, uint32_t key)
{
	struct horton_bucket *primary = &t->bucket[horton_primary(t, key)], *second;
	struct horton_place place = {primary, bucket_find(primary, key), 1};

	if (place.slot < 0 && (second = horton_secondary(t, primary, key)))
		place = (struct horton_place){second, bucket_find(second, key), 2};
	if (place.slot < 0)
		place.bucket = NULL;
	return place;
}
