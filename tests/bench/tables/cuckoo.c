/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bucketised cuckoo hash tables: two buckets for each key, and a search for a way to make room. */
#include "cuckoo.h"

#include <stdlib.h>

#include "horton/bucket.h"
#include "horton/memory.h"
#include "horton/pipeline.h"

/* Buckets that are looked at to find a free slot. */
#define SEARCHED 8000

/* No bucket here has remap entries, so horton_bucket's last slot is one as all others. */
struct cuckoo {
	struct horton_bucket *bucket;
	uint32_t buckets;
	bool first_fit;
};

static uint32_t hash(const struct cuckoo *t, uint32_t key, int which)
{
	return horton_spread(horton_mix(key, (uint32_t)which + 1), t->buckets);
}

struct cuckoo *cuckoo_create(uint32_t buckets, bool first_fit)
{
	struct cuckoo *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->bucket = horton_memory(buckets * sizeof(struct horton_bucket));
	if (!t->bucket) {
		free(t);
		return NULL;
	}
	t->buckets = buckets;
	t->first_fit = first_fit;
	return t;
}

void cuckoo_destroy(struct cuckoo *t)
{
	if (t)
		free(t->bucket);
	free(t);
}

static inline int find_slot(const struct horton_bucket *b, uint32_t key)
{
	for (int s = 0; s < HORTON_SLOTS; s++)
		if (b->key[s] == key)
			return s;
	return -1;
}

static int free_slots(const struct horton_bucket *b)
{
	int n = 0;

	for (int s = 0; s < HORTON_SLOTS; s++)
		n += b->key[s] == HORTON_FREE;
	return n;
}

static void put(struct horton_bucket *b, int s, uint32_t key, uint32_t value)
{
	b->key[s] = key;
	b->value[s] = value;
}

/* A bucket of the search, and which slot of which one before it leads here. */
struct step {
	uint32_t bucket;
	int before, slot;
};

/* Breadth first from both buckets: the shortest way to a free slot is taken, from its end. */
static bool displace(struct cuckoo *t, uint32_t key, uint32_t value)
{
	static struct step steps[SEARCHED];
	int n = 2;

	steps[0] = (struct step){hash(t, key, 0), -1, 0};
	steps[1] = (struct step){hash(t, key, 1), -1, 0};
	for (int i = 0; i < n; i++) {
		struct horton_bucket *b = &t->bucket[steps[i].bucket];
		int slot = find_slot(b, HORTON_FREE);

		if (slot >= 0) {
			while (steps[i].before >= 0) {
				int from = steps[i].slot;
				struct horton_bucket *other =
					&t->bucket[steps[steps[i].before].bucket];

				put(b, slot, other->key[from], other->value[from]);
				put(other, from, HORTON_FREE, 0);
				slot = from;
				b = other;
				i = steps[i].before;
			}
			put(b, slot, key, value);
			return true;
		}
		for (int s = 0; s < HORTON_SLOTS && n < SEARCHED; s++) {
			uint32_t first = hash(t, b->key[s], 0), to;
			bool seen = false;

			to = first == steps[i].bucket ? hash(t, b->key[s], 1) : first;
			/* A way that leads through a bucket twice would move what is not there any
			 * more. */
			for (int j = i; j >= 0 && !seen; j = steps[j].before)
				seen = steps[j].bucket == to;
			if (!seen)
				steps[n++] = (struct step){to, i, s};
		}
	}
	return false;
}

bool cuckoo_insert(struct cuckoo *t, uint32_t key, uint32_t value)
{
	struct horton_bucket *first = &t->bucket[hash(t, key, 0)],
			     *second = &t->bucket[hash(t, key, 1)];
	int room[2] = {free_slots(first), free_slots(second)};
	struct horton_bucket *best =
		room[0] && (t->first_fit || room[0] >= room[1]) ? first : second;

	/* Where both have the same room, each is as good: the parity of the key says which. */
	if (!t->first_fit && room[0] == room[1] && key & 1)
		best = second;
	if (!room[0] && !room[1])
		return displace(t, key, value);
	put(best, find_slot(best, HORTON_FREE), key, value);
	return true;
}

unsigned cuckoo_lines(const struct cuckoo *t, uint32_t key)
{
	return find_slot(&t->bucket[hash(t, key, 0)], key) >= 0 ? 1 : 2;
}

static const struct horton_bucket *first_bucket(const void *table, uint32_t key)
{
	const struct cuckoo *t = table;

	return &t->bucket[hash(t, key, 0)];
}

static const struct horton_bucket *second_bucket(
	const void *table, const struct horton_bucket *first, uint32_t key)
{
	const struct cuckoo *t = table;

	(void)first;
	return &t->bucket[hash(t, key, 1)];
}

#if defined(__x86_64__)
static inline __attribute__((target("avx2"))) int find_avx2(
	const struct horton_bucket *b, uint32_t key)
{
	return __builtin_ffs(bucket_same_avx2(b, key)) - 1;
}

static __attribute__((target("avx2"))) size_t look_up_avx2(
	const struct cuckoo *t, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
	static const struct pipeline how = {first_bucket, second_bucket, find_avx2};

	return pipeline_look_up(&how, t, NULL, keys, n, values, found);
}
#endif

size_t cuckoo_lookup_many(
	const struct cuckoo *t, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
	static const struct pipeline how = {first_bucket, second_bucket, find_slot};

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return look_up_avx2(t, keys, n, values, found);
#endif
	return pipeline_look_up(&how, t, NULL, keys, n, values, found);
}
