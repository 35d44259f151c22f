/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has read which document how often: a graph of users and documents in one piece of memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/errmsg.h"

/*
 * After "Cache-conscious high throughput collaborative filtering" (CF'14, section 3.2 and figure
 * 5): what is known of a vertex and its edges lie side by side, 48 bytes and 24 for each edge
 * (section 2.2), so that a query that comes to a vertex reads on. The graph holds no pointers:
 * many processes can map one file. Documents are the vertices from 0 on, users those behind them.
 */
struct edge {
	uint32_t to;       /* vertex */
	uint32_t times;    /* how often the user has read the document */
	uint64_t to_at;    /* where that vertex is, as in graph_vertex() */
	float weight;      /* times, as a share of all times that the document was read */
	uint32_t last_day; /* when for the last time */
};

struct vertex {
	uint32_t number, edges;
	uint32_t group; /* documents with the same one are read by the same users, mostly */
	uint32_t times; /* sum over its edges */
	char title[32];
	struct edge edge[];
};

struct graph_size {
	uint32_t documents, users,
		edges; /* at least 2, 2 and 1, and at most half of all that there can be */
	uint64_t seed;
};

struct graph;

/*
 * Makes up a graph: readers of groups of some 80 documents, who read some others, too, and
 * documents and users of whom there is more and less. The groups that it tells are not those, but
 * found from the edges, as they would be for real ones. file: where the graph is kept for other
 * processes, or is already; NULL: in this process only. Returns NULL on error. graph_close() ends
 * it; the file stays.
 */
struct graph *graph_open(const struct graph_size *size, const char *file, struct errmsg *err);
void graph_close(struct graph *g);
const struct graph_size *graph_size_of(const struct graph *g);
/* Where a vertex is, for graph_at(). */
uint64_t graph_offset(const struct graph *g, uint32_t vertex);
const struct vertex *graph_at(const struct graph *g, uint64_t offset);
/* In bytes, from the first offset on. */
size_t graph_bytes(const struct graph *g);
