/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Horton tables: hash tables of 32-bit keys and values whose lookups read one cache line nearly
 * always. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From "Horton Tables: Fast Hash Tables for In-Memory Data-Intensive Computing" (chapter 5 of A.
 * Breslow's thesis).
 *
 * A bucket is one cache line of eight slots. A key's primary bucket comes from the key. Where a
 * bucket gets more keys than it can hold, its last slot becomes 21 remap entries of three bits:
 * each says by which of seven secondary hash functions the keys with that tag were moved elsewhere.
 * So a lookup reads the primary bucket, and a second one only where the entry of the key's tag is
 * set.
 *
 * All keys and all values can be stored. One thread may change a table while no other one uses it;
 * any number of threads may look up while none changes it.
 */
struct horton;

/* The most buckets of a table: a remap entry's number has 32 bits. */
#define HORTON_BUCKETS_MAX (UINT32_MAX / 21)

enum horton_result {
	HORTON_NEW,      /* the key was not there */
	HORTON_REPLACED, /* the key was there with another value, or with this one */
	HORTON_FULL, /* no place was found: the key has the value that it had, or is not there */
};

/* Which code looks up: scalar can be chosen where results have to be compared. */
enum horton_path {
	HORTON_BEST, /* AVX2 where the processor has it, which is the default */
	HORTON_SCALAR,
};

/*
 * Makes an empty table of so many buckets, of 64 bytes each. `seed` chooses the hash functions:
 * give a random one where keys may come from somebody who wants lookups to be slow. Returns NULL
 * with errno EINVAL (0 buckets or more than HORTON_BUCKETS_MAX) or ENOMEM. The caller destroys it.
 */
struct horton *horton_create(uint32_t buckets, uint64_t seed);
/* NULL is fine. */
void horton_destroy(struct horton *table);

/* How many buckets hold so many items at that load, a share of all slots above 0 and at most 1: 0.9
 * is fast, 0.95 can be reached. Returns 0 where that is more than HORTON_BUCKETS_MAX, or the load
 * is no such share. */
uint32_t horton_buckets_for(uint64_t items, double load);

/* Returns true, with *value (NULL: not wanted), where the key is there. */
bool horton_lookup(const struct horton *table, uint32_t key, uint32_t *value);
/*
 * Looks up n keys, and has many cache lines on their way at once. values[i] is the value of keys[i]
 * where found[i] is 1, and stays as it was where found[i] is 0. Returns how many were found.
 */
size_t horton_lookup_many(const struct horton *table, const uint32_t *keys, size_t n,
	uint32_t *values, uint8_t *found);
void horton_use(struct horton *table, enum horton_path path);

enum horton_result horton_insert(struct horton *table, uint32_t key, uint32_t value);
/* Items that were moved elsewhere come back to where they are found with one line, as far as there
 * is room again. Returns whether the key was there. */
bool horton_erase(struct horton *table, uint32_t key);
/* Moves all items into so many buckets, or into more where these do not suffice. Returns 0, or -1
 * with errno and the table as it was. */
int horton_resize(struct horton *table, uint32_t buckets);

uint64_t horton_items(const struct horton *table);
uint32_t horton_buckets(const struct horton *table);
/* Walks over all items in no order that means anything: begin with *cursor = 0. Returns false at
 * the end. The table must not change meanwhile. */
bool horton_next(const struct horton *table, uint64_t *cursor, uint32_t *key, uint32_t *value);

/* How many cache lines a lookup of that key reads: 1 or 2, or 0 for the one key that is kept
 * outside the buckets. */
unsigned horton_lines(const struct horton *table, uint32_t key);

struct horton_shape {
	uint64_t items;     /* in buckets */
	uint64_t secondary; /* of these, in another bucket than their primary one */
	uint64_t entries;   /* remap entries that are set */
	uint32_t buckets;
	uint32_t with_entries; /* buckets whose last slot is remap entries (type B) */
};
void horton_measure(const struct horton *table, struct horton_shape *shape);
/* Whether each item is found, and all that tables keep true is true. For tests: it reads the whole
 * table. */
bool horton_check(const struct horton *table);

#ifdef __cplusplus
}
#endif
