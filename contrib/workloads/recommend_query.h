/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which documents readers of one document have read: a search of few levels from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recommend_graph.h"

/*
 * After CF'14, algorithm 1: the search goes level by level, from documents to users and back, and
 * ends after some levels, or when enough documents were found. A document's relevance is the
 * total weight of all edges on its shortest paths from the root (equation 6).
 *
 * Each worker has a slot of 16 bytes for each vertex (section 3.3). The number of the query in it
 * says which query has left it there, so nothing has to be cleared between two queries.
 */
struct slot {
	uint32_t query, depth;
	float paths, score;
};

struct query_settings {
	uint32_t levels;    /* at least 1; an even one ends at documents */
	uint32_t documents; /* so many are enough; at least 1 */
};

/* What a simulated cache is told: that the query reads `bytes` of the graph from an offset on, or
 * reads and writes the slot of a vertex. */
struct query_watch {
	void (*read)(void *arg, uint64_t offset, size_t bytes);
	void (*slot)(void *arg, uint32_t vertex);
	void *arg;
};

struct query_worker;

/* The graph is to outlive the worker. watch: NULL for none. Returns NULL where there is no memory.
 */
struct query_worker *query_worker_create(const struct graph *g,
	const struct query_settings *settings, const struct query_watch *watch);
void query_worker_destroy(struct query_worker *w);
/* Searches from a document. Returns how many others it found, and leaves the best ones in best[],
 * at most `most`: the nearer ones first, and of those as near the more relevant ones. */
uint32_t query_run(struct query_worker *w, uint32_t document, uint32_t *best, uint32_t most);
/* The relevance of a document that the last query found. */
double query_score(const struct query_worker *w, uint32_t document);
