/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plain hash table with open addressing, with which Horton tables are compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Items of eight bytes, key and value side by side; an item that finds its place taken goes to the
 * next free one. Key 0 cannot be stored. */
struct probing;

struct probing *probing_create(uint64_t slots);
void probing_destroy(struct probing *table);
/* The key is not there yet, and there is a free slot. */
void probing_insert(struct probing *table, uint32_t key, uint32_t value);
/* As horton_lookup_many(). */
size_t probing_lookup_many(const struct probing *table, const uint32_t *keys, size_t n,
	uint32_t *values, uint8_t *found);
unsigned probing_lines(const struct probing *table, uint32_t key);
