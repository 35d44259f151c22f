/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches the graph of readers level by level. */
#include "recommend_query.h"

#include <stdlib.h>
#include <string.h>

struct query_worker {
	const struct graph *graph;
	struct query_settings set;
	struct query_watch watch;
	struct slot *slots;
	uint32_t *found; /* vertices in the order in which they were found */
	uint32_t documents, number;
};

struct query_worker *query_worker_create(const struct graph *g,
	const struct query_settings *settings, const struct query_watch *watch)
{
	const struct graph_size *size = graph_size_of(g);
	uint32_t n = size->documents + size->users;
	struct query_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->graph = g;
	w->set = *settings;
	w->documents = size->documents;
	if (watch)
		w->watch = *watch;
	w->slots = calloc(n, sizeof(*w->slots));
	w->found = malloc(n * sizeof(*w->found));
	if (!w->slots || !w->found) {
		query_worker_destroy(w);
		return NULL;
	}
	return w;
}

void query_worker_destroy(struct query_worker *w)
{
	if (!w)
		return;
	free(w->slots);
	free(w->found);
	free(w);
}

/* Follows the edges of one vertex. Returns how many documents are new; new vertices are appended.
 */
static uint32_t expand(struct query_worker *w, const struct vertex *v, uint32_t *count)
{
	const struct slot from = w->slots[v->number];
	uint32_t documents = 0;

	if (w->watch.read)
		w->watch.read(w->watch.arg, graph_offset(w->graph, v->number),
			sizeof(*v) + v->edges * sizeof(*v->edge));
	for (uint32_t i = 0; i < v->edges; i++) {
		const struct edge *e = &v->edge[i];
		struct slot *to = &w->slots[e->to];

		if (w->watch.slot)
			w->watch.slot(w->watch.arg, e->to);
		if (to->query != w->number) {
			*to = (struct slot){.query = w->number, .depth = from.depth + 1};
			w->found[(*count)++] = e->to;
			documents += e->to < w->documents;
		}
		/* What was found at this level or before it is not behind this vertex. */
		if (to->depth == from.depth + 1) {
			to->paths += from.paths;
			to->score += from.score + from.paths * e->weight;
		}
	}
	return documents;
}

/* Whether document a is to be told before b. */
static bool is_better(const struct query_worker *w, uint32_t a, uint32_t b)
{
	const struct slot *x = &w->slots[a], *y = &w->slots[b];

	if (x->depth != y->depth)
		return x->depth < y->depth;
	if (x->score > y->score || x->score < y->score)
		return x->score > y->score;
	return a < b;
}

static uint32_t choose(const struct query_worker *w, uint32_t count, uint32_t *best, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < count; i++) {
		uint32_t d = w->found[i], at = n;

		if (d >= w->documents || !most || (n == most && !is_better(w, d, best[n - 1])))
			continue;
		if (n < most)
			n++;
		else
			at--;
		for (; at && is_better(w, d, best[at - 1]); at--)
			best[at] = best[at - 1];
		best[at] = d;
	}
	return n;
}

uint32_t query_run(struct query_worker *w, uint32_t document, uint32_t *best, uint32_t most)
{
	uint32_t count = 1, done = 0, documents = 0;

	if (!++w->number) {
		const struct graph_size *size = graph_size_of(w->graph);

		memset(w->slots, 0, (size->documents + size->users) * sizeof(*w->slots));
		w->number = 1;
	}
	w->found[0] = document;
	w->slots[document] = (struct slot){.query = w->number, .paths = 1};
	if (w->watch.slot)
		w->watch.slot(w->watch.arg, document);
	while (done < count && documents < w->set.documents) {
		const struct vertex *v =
			graph_at(w->graph, graph_offset(w->graph, w->found[done++]));

		if (w->slots[v->number].depth >= w->set.levels)
			break;
		documents += expand(w, v, &count);
	}
	choose(w, count, best, most);
	return documents;
}

double query_score(const struct query_worker *w, uint32_t document)
{
	return w->slots[document].query == w->number ? (double)w->slots[document].score : 0;
}
