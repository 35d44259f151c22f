/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Looks up many keys at once in a table of buckets, of which each key has one or two. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "horton/bucket.h"

/* How many first buckets are on their way from memory at once, and how many second ones. */
#define PIPELINE_AHEAD 16
#define PIPELINE_LATER 16

/* What differs from table to table, and from processor to processor. */
struct pipeline {
	const struct horton_bucket *(*first)(const void *table, uint32_t key);
	/* NULL: the key has no other one. It is not in the first one. */
	const struct horton_bucket *(*second)(
		const void *table, const struct horton_bucket *first, uint32_t key);
	/* Where the key is in a bucket, or -1. */
	int (*find)(const struct horton_bucket *b, uint32_t key);
};

/* Keys whose second bucket is on its way. */
struct pipeline_later {
	const struct horton_bucket *bucket;
	size_t index;
};

/*
 * As horton_lookup_many(), after section 5.4.2 of the thesis; outside is the value of the key
 * HORTON_FREE, or NULL. It is part of each caller, and so are the functions of a constant `how`:
 * give it one.
 */
static inline __attribute__((always_inline)) size_t pipeline_look_up(const struct pipeline *how,
	const void *table, const uint32_t *outside, const uint32_t *keys, size_t n,
	uint32_t *values, uint8_t *found)
{
	const struct horton_bucket *first[PIPELINE_AHEAD];
	struct pipeline_later later[PIPELINE_LATER];
	size_t count = 0, waiting = 0;

	for (size_t i = 0; i < n + PIPELINE_AHEAD; i++) {
		if (i >= PIPELINE_AHEAD) {
			size_t at = i - PIPELINE_AHEAD;
			const struct horton_bucket *b = first[at % PIPELINE_AHEAD], *next;
			int s = keys[at] == HORTON_FREE ? -1 : how->find(b, keys[at]);

			found[at] = s >= 0;
			if (s >= 0) {
				values[at] = b->value[s];
			} else if (keys[at] == HORTON_FREE) {
				found[at] = outside != NULL;
				if (outside)
					values[at] = *outside;
			} else if ((next = how->second(table, b, keys[at]))) {
				later[waiting++] = (struct pipeline_later){next, at};
				__builtin_prefetch(next);
			}
			count += found[at];
		}
		if (i < n) {
			first[i % PIPELINE_AHEAD] = how->first(table, keys[i]);
			__builtin_prefetch(first[i % PIPELINE_AHEAD]);
		}
		if (waiting < PIPELINE_LATER && i + 1 < n + PIPELINE_AHEAD)
			continue;
		while (waiting) {
			struct pipeline_later *l = &later[--waiting];
			int s = how->find(l->bucket, keys[l->index]);

			if (s < 0)
				continue;
			values[l->index] = l->bucket->value[s];
			found[l->index] = 1;
			count++;
		}
	}
	return count;
}
