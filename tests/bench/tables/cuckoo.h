/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bucketised cuckoo hash tables, with which Horton tables are compared (thesis, section 5.2). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Buckets of eight items in a cache line, two hash functions; a lookup reads the second bucket
 * where the first one does not have the key. Key 0 cannot be stored. */
struct cuckoo;

/* first_fit: an item goes into its first bucket if that has room; else into the one with more room.
 * Returns NULL where there is no memory. */
struct cuckoo *cuckoo_create(uint32_t buckets, bool first_fit);
void cuckoo_destroy(struct cuckoo *table);
/* The key is not there yet. Returns false where no place was found within a search of some thousand
 * buckets. */
bool cuckoo_insert(struct cuckoo *table, uint32_t key, uint32_t value);
/* As horton_lookup_many(), by the same loop. */
size_t cuckoo_lookup_many(const struct cuckoo *table, const uint32_t *keys, size_t n,
	uint32_t *values, uint8_t *found);
unsigned cuckoo_lines(const struct cuckoo *table, uint32_t key);
