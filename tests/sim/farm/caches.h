/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulated private caches of many cores, and what they have from each other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE 128 /* bytes, as on POWER7+ */

/* Where an access found its line. */
enum cache_place {
	CACHE_OWN,
	CACHE_CORE, /* in the cache of another core of the socket, or that lost its copy to a write
		     */
	CACHE_SOCKET, /* likewise, of another socket */
	CACHE_MEMORY,
	CACHE_PLACES
};

struct caches_shape {
	uint32_t cores, cores_of_socket; /* at most 64 cores */
	uint32_t bytes, ways;            /* of each core's cache; the sets are a power of two */
	uint32_t lines;                  /* that there are in memory */
};

struct caches;

/* Sets are filled and emptied by least recent use. Returns NULL where there is no memory. */
struct caches *caches_create(const struct caches_shape *shape);
void caches_destroy(struct caches *c);
/* A core reads a line, or writes to it and takes it from all others. */
enum cache_place caches_access(struct caches *c, uint32_t core, uint32_t line, bool write);
