/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bucketised cuckoo hash tables: two buckets for each key, and a search for a way to make room. */
#include "cuckoo.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "horton/bucket.h"

/* Buckets that are looked at to find a free slot. */
#define SEARCHED 8000
#define AHEAD 16
#define LATER 16

/* No bucket here has remap entries, so horton_bucket's last slot is one as all others. */
struct cuckoo {
	struct horton_bucket *bucket;
	uint32_t buckets;
	bool first_fit;
};

static uint32_t hash(const struct cuckoo *t, uint32_t key, int which)
{
	return horton_spread(horton_mix(key, which ? 0x5bd1e995u : 0x1b873593u), t->buckets);
}

struct cuckoo *cuckoo_create(uint32_t buckets, bool first_fit)
{
	struct cuckoo *t = calloc(1, sizeof(*t));
	size_t size = buckets * sizeof(struct horton_bucket);
	void *memory;

	if (!t || posix_memalign(&memory, (size_t)2 << 20, size)) {
		free(t);
		return NULL;
	}
	madvise(memory, size, MADV_HUGEPAGE);
	t->bucket = memset(memory, 0, size);
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

struct later {
	uint32_t bucket;
	size_t index;
};

/* The same pipeline as that of horton/lookup.c. */
static inline __attribute__((always_inline)) size_t look_up_all(const struct cuckoo *t,
	const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found,
	int (*find)(const struct horton_bucket *, uint32_t))
{
	struct later later[LATER];
	uint32_t primary[AHEAD];
	size_t count = 0, waiting = 0;

	for (size_t i = 0; i < n + AHEAD; i++) {
		if (i >= AHEAD) {
			size_t at = i - AHEAD;
			const struct horton_bucket *b = &t->bucket[primary[at % AHEAD]];
			int s = find(b, keys[at]);

			found[at] = s >= 0;
			if (s >= 0) {
				values[at] = b->value[s];
				count++;
			} else {
				later[waiting] = (struct later){hash(t, keys[at], 1), at};
				__builtin_prefetch(&t->bucket[later[waiting++].bucket]);
			}
		}
		if (i < n) {
			primary[i % AHEAD] = hash(t, keys[i], 0);
			__builtin_prefetch(&t->bucket[primary[i % AHEAD]]);
		}
		if (waiting < LATER && i + 1 < n + AHEAD)
			continue;
		while (waiting) {
			struct later *l = &later[--waiting];
			int s = find(&t->bucket[l->bucket], keys[l->index]);

			if (s < 0)
				continue;
			values[l->index] = t->bucket[l->bucket].value[s];
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
	__m256i same = _mm256_cmpeq_epi32(
		_mm256_load_si256((const __m256i *)b->key), _mm256_set1_epi32((int)key));

	return __builtin_ffs(_mm256_movemask_ps(_mm256_castsi256_ps(same))) - 1;
}

static __attribute__((target("avx2"))) size_t look_up_avx2(
	const struct cuckoo *t, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
	return look_up_all(t, keys, n, values, found, find_avx2);
}
#endif

size_t cuckoo_lookup_many(
	const struct cuckoo *t, const uint32_t *keys, size_t n, uint32_t *values, uint8_t *found)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return look_up_avx2(t, keys, n, values, found);
#endif
	return look_up_all(t, keys, n, values, found, find_slot);
}
