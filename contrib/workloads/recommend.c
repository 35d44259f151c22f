/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recommends documents by what their readers have read: the example of poppa-farm, and a program
 * that reads much and writes little. */
#include <argp.h>
#include <error.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/units.h"
#include "common/xorshift.h"
#include "graph_options.h"
#include "recommend_graph.h"
#include "recommend_query.h"
#include "workload_number.h"

#define BEST 10

enum {
	KEY_GRAPH = 256,
	KEY_LEVELS,
	KEY_ENOUGH,
	KEY_QUERIES,
	KEY_GROUPS,
	KEY_NEAR,
	KEY_DOCUMENT,
	KEY_EDGE_LIST,
	KEY_VERBOSE
};

struct options {
	struct graph_size size;
	struct query_settings query;
	const char *graph;
	int64_t queries, groups, document;
	bool near, edge_list, verbose;
};

static const struct argp_option option_list[] = {
	{"graph", KEY_GRAPH, "FILE", 0,
		"keeps the graph there, such as in /dev/shm: other processes share it", 0},
	{"levels", KEY_LEVELS, "N", 0, "of the search (4)", 0},
	{"enough", KEY_ENOUGH, "N", 0, "so many documents found end it (1000)", 0},
	{"queries", KEY_QUERIES, "N", 0,
		"print so many random queries, tasks for poppa-farm: the group of a document, a tab, and its number",
		1},
	{"groups", KEY_GROUPS, "N", 0, "of documents of so many groups only", 1},
	{"near", KEY_NEAR, NULL, 0, "those of a group one after the other", 1},
	{"document", KEY_DOCUMENT, "N", 0, "print what is recommended to readers of this document",
		1},
	{"edge-list", KEY_EDGE_LIST, NULL, 0,
		"print the graph: document, user, how often it was read", 1},
	{"verbose", KEY_VERBOSE, NULL, 0, "print the rate to standard error", 1},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->size;
		return 0;
	case KEY_GRAPH:
		o->graph = arg;
		return 0;
	case KEY_LEVELS:
		o->query.levels = (uint32_t)workload_number(state, "levels", arg, 1, 100);
		return 0;
	case KEY_ENOUGH:
		o->query.documents = (uint32_t)workload_number(state, "enough", arg, 1, 1 << 30);
		return 0;
	case KEY_QUERIES:
		o->queries = workload_number(state, "queries", arg, 1, INT32_MAX);
		return 0;
	case KEY_GROUPS:
		o->groups = workload_number(state, "groups", arg, 1, INT32_MAX);
		return 0;
	case KEY_NEAR:
		o->near = true;
		return 0;
	case KEY_DOCUMENT:
		o->document = workload_number(state, "document", arg, 0, 1 << 30);
		return 0;
	case KEY_EDGE_LIST:
		o->edge_list = true;
		return 0;
	case KEY_VERBOSE:
		o->verbose = true;
		return 0;
	case ARGP_KEY_END:
		if (o->document >= o->size.documents)
			argp_error(state, "--document: the last one is %u", o->size.documents - 1);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static uint32_t group_of(const struct graph *g, uint32_t document)
{
	return graph_at(g, graph_offset(g, document))->group;
}

/* Documents of so many groups, or all. */
static uint32_t candidates(const struct graph *g, const struct options *o, uint32_t *document)
{
	uint32_t n = 0, groups = 0;
	bool *wanted = calloc(o->size.documents + o->size.users, sizeof(*wanted));

	if (!wanted)
		return 0;
	for (uint32_t d = 0; d < o->size.documents; d++) {
		uint32_t group = group_of(g, d);

		if (!wanted[group] && o->groups && groups == o->groups)
			continue;
		groups += !wanted[group];
		wanted[group] = true;
		document[n++] = d;
	}
	free(wanted);
	return n;
}

struct query {
	uint32_t group, document, number;
};

static int by_group(const void *a, const void *b)
{
	const struct query *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static void print_queries(const struct graph *g, const struct options *o)
{
	uint32_t *document = malloc(o->size.documents * sizeof(*document));
	struct query *q = malloc((size_t)o->queries * sizeof(*q));
	uint32_t n = document && q ? candidates(g, o, document) : 0;
	uint64_t random = o->size.seed * 2 + 5;

	if (!n)
		error(EXIT_FAILURE, 0, "no memory for %" PRId64 " queries", o->queries);
	for (int64_t i = 0; i < o->queries; i++) {
		uint32_t d = document[(uint32_t)((uint64_t)xorshift_32(&random) * n >> 32)];

		q[i] = (struct query){group_of(g, d), d, (uint32_t)i};
	}
	if (o->near)
		qsort(q, (size_t)o->queries, sizeof(*q), by_group);
	for (int64_t i = 0; i < o->queries; i++)
		printf("%u\t%u\n", q[i].group, q[i].document);
	free(q);
	free(document);
}

static void print_edges(const struct graph *g)
{
	uint32_t documents = graph_size_of(g)->documents;

	for (uint32_t d = 0; d < documents; d++) {
		const struct vertex *v = graph_at(g, graph_offset(g, d));

		for (uint32_t i = 0; i < v->edges; i++)
			printf("%u\t%u\t%u\n", d, v->edge[i].to - documents, v->edge[i].times);
	}
}

static void print_best(struct query_worker *w, const struct graph *g, uint32_t document)
{
	uint32_t best[BEST], n = query_run(w, document, best, BEST);

	for (uint32_t i = 0; i < n && i < BEST; i++)
		printf("%.6f\t%s\n", query_score(w, best[i]),
			graph_at(g, graph_offset(g, best[i]))->title);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Answers each line, a number with or without a key before it, as poppa-farm wants it. */
static void serve(struct query_worker *w, const struct options *o)
{
	char line[256];
	uint64_t done = 0, found = 0;
	double start = now(), seconds;

	while (fgets(line, sizeof(line), stdin)) {
		char *text = strchr(line, '\t');
		uint32_t best[BEST];
		struct errmsg err;
		int64_t document;

		line[strcspn(line, "\n")] = 0;
		text = text ? text + 1 : line;
		if (units_parse_int(text, 0, o->size.documents - 1, &document, &err)) {
			printf("%s\n", err.text);
		} else {
			found += query_run(w, (uint32_t)document, best, BEST);
			done++;
			puts("ok");
		}
		if (fflush(stdout))
			return;
	}
	seconds = now() - start;
	if (o->verbose && done)
		fprintf(stderr, "recommend: %.6g queries a second, %.0f documents each\n",
			(double)done / seconds, (double)found / (double)done);
}

int main(int argc, char **argv)
{
	struct options o = {
		.size = graph_size_default,
		.query = {.levels = 4, .documents = 1000},
		.document = -1,
	};
	const struct argp_child children[] = {{&graph_options, 0, NULL, 0}, {0}};
	const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.children = children,
		.doc = "Recommends documents by what their readers have read. Reads numbers of documents as lines and "
		       "answers each with \"ok\" when it has searched.\v"
		       "  recommend --graph /dev/shm/readers --queries 32768 >queries\n"
		       "  poppa-farm --server 'recommend --graph /dev/shm/readers' queries",
	};
	struct errmsg err = {""};
	struct query_worker *w;
	struct graph *g;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	g = graph_open(&o.size, o.graph, &err);
	if (!g)
		error(EXIT_FAILURE, 0, "%s", err.text);
	w = query_worker_create(g, &o.query, NULL);
	if (!w)
		error(EXIT_FAILURE, 0, "no memory");
	if (o.queries)
		print_queries(g, &o);
	else if (o.edge_list)
		print_edges(g);
	else if (o.document >= 0)
		print_best(w, g, (uint32_t)o.document);
	else
		serve(w, &o);
	query_worker_destroy(w);
	graph_close(g);
	return 0;
}
