/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulates queries on a machine of private caches, in the order in which poppa-farm starts them.
 */
#include <argp.h>
#include <error.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/xorshift.h"
#include "farm/farm_schedule.h"
#include "sim/farm/caches.h"
#include "workloads/graph_options.h"
#include "workloads/recommend_graph.h"
#include "workloads/recommend_query.h"
#include "workloads/workload_number.h"

#define CORES_MAX 64

/* Nanoseconds that an access takes by where it finds its line, and that an edge takes. They are
 * assumed, and decide how long queries take, in which order they start, and what fewer misses
 * bring. */
static const double cost[CACHE_PLACES] = {10, 60, 180, 120};
static const double cost_edge = 2;

enum { KEY_QUERIES = 256, KEY_CORES, KEY_SOCKET, KEY_KIB, KEY_WAYS, KEY_ORDER, KEY_SLOTS };

static const char *const orders[] = {"base", "inter", "intra"};
static const char *const layouts[] = {"shared", "own"};

struct options {
	struct graph_size size;
	struct caches_shape shape;
	int64_t queries;
	int order, layout;
};

static const struct argp_option option_list[] = {
	{"queries", KEY_QUERIES, "N", 0, "random ones, all there at the start (32768)", 0},
	{"cores", KEY_CORES, "N", 0, "workers, one on each (32)", 0},
	{"socket", KEY_SOCKET, "N", 0, "cores of a socket (8)", 0},
	{"kib", KEY_KIB, "N", 0, "cache of each core (4096)", 0},
	{"ways", KEY_WAYS, "N", 0, "of the cache (8)", 0},
	{"order", KEY_ORDER, "NAME", 0,
		"base (a list for each worker, and stealing), inter (each key on one worker) or intra (and soon after the last one; "
		"poppa-farm's default)",
		0},
	{"slots", KEY_SLOTS, "NAME", 0,
		"shared (those of all workers for a vertex side by side, as in the paper) or own (memory of each worker's own, as "
		"poppa-farm's servers have)",
		0},
	{0},
};

static int choice(const struct argp_state *state, const char *option, const char *text,
	const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(text, names[i]))
			return i;
	argp_error(state, "--%s=%s: give one of those that --help names", option, text);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->size;
		return 0;
	case KEY_QUERIES:
		o->queries = workload_number(state, "queries", arg, 1, 1 << 30);
		return 0;
	case KEY_CORES:
		o->shape.cores = (uint32_t)workload_number(state, "cores", arg, 1, CORES_MAX);
		return 0;
	case KEY_SOCKET:
		o->shape.cores_of_socket =
			(uint32_t)workload_number(state, "socket", arg, 1, CORES_MAX);
		return 0;
	case KEY_KIB:
		o->shape.bytes = 1024 * (uint32_t)workload_number(state, "kib", arg, 1, 1 << 20);
		return 0;
	case KEY_WAYS:
		o->shape.ways = (uint32_t)workload_number(state, "ways", arg, 1, 64);
		return 0;
	case KEY_ORDER:
		o->order = choice(state, "order", arg, orders, 3);
		return 0;
	case KEY_SLOTS:
		o->layout = choice(state, "slots", arg, layouts, 2);
		return 0;
	case ARGP_KEY_END: {
		uint32_t sets = o->shape.bytes / CACHE_LINE / o->shape.ways;

		if (!sets || sets & (sets - 1))
			argp_error(state,
				"--kib, --ways: the sets of %d bytes a way have to be a power of two",
				CACHE_LINE);
		return 0;
	}
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct core {
	struct machine *machine;
	struct query_worker *worker;
	uint32_t number;
	double clock_ns; /* the end of its last query */
	bool over;
};

struct machine {
	const struct options *options;
	struct caches *caches;
	uint64_t slots_at; /* bytes of the graph, before the slots */
	uint32_t vertices;
	struct core core[CORES_MAX];
	uint64_t count[CACHE_PLACES];
};

static void touch(struct core *k, uint64_t at, size_t bytes, bool write)
{
	struct machine *m = k->machine;

	for (uint64_t line = at / CACHE_LINE; line <= (at + bytes - 1) / CACHE_LINE; line++) {
		enum cache_place place = caches_access(m->caches, k->number, (uint32_t)line, write);

		m->count[place]++;
		k->clock_ns += cost[place];
	}
}

static void on_read(void *arg, uint64_t offset, size_t bytes)
{
	struct core *k = arg;

	touch(k, offset, bytes, false);
	k->clock_ns += cost_edge * (double)(bytes - sizeof(struct vertex)) / sizeof(struct edge);
}

static void on_slot(void *arg, uint32_t vertex)
{
	struct core *k = arg;
	const struct machine *m = k->machine;
	uint64_t cores = m->options->shape.cores;
	uint64_t n = m->options->layout ? (uint64_t)k->number * m->vertices + vertex
					: vertex * cores + k->number;

	touch(k, m->slots_at + n * sizeof(struct slot), sizeof(struct slot), true);
}

struct task {
	struct farm_task task; /* first: the schedule's part */
	uint32_t document;
};

static struct farm_schedule *fill(
	const struct graph *g, const struct options *o, struct task *tasks)
{
	struct farm_settings set = farm_defaults;
	struct farm_schedule *s;
	uint64_t random = 11;

	set.policy = o->order ? FARM_AFFINITY : FARM_STEALING;
	if (o->order == 1)
		set.window = 1;
	s = farm_schedule_create(o->shape.cores, &set, 1);
	for (int64_t i = 0; s && i < o->queries; i++) {
		uint32_t d = (uint32_t)((uint64_t)xorshift_32(&random) * o->size.documents >> 32);
		uint32_t group = graph_at(g, graph_offset(g, d))->group;

		tasks[i].document = d;
		tasks[i].task.key = farm_schedule_key(s, (const char *)&group, sizeof(group));
		farm_schedule_add(s, &tasks[i].task);
	}
	return s;
}

/* The core whose last query ended first, or NULL. */
static struct core *first_idle(struct machine *m)
{
	struct core *first = NULL;

	for (uint32_t i = 0; i < m->options->shape.cores; i++) {
		struct core *k = &m->core[i];

		if (!k->over && (!first || k->clock_ns < first->clock_ns))
			first = k;
	}
	return first;
}

static void report(const struct machine *m)
{
	const struct options *o = m->options;
	double sum = 0, squares = 0, longest = 0, n = (double)o->queries;
	uint32_t cores = o->shape.cores;

	for (uint32_t i = 0; i < cores; i++) {
		double t = m->core[i].clock_ns;

		sum += t;
		squares += t * t;
		longest = fmax(longest, t);
	}
	printf("order,slots,cores,queries,ms,uneven,own,core,socket,memory\n");
	printf("%s,%s,%u,%" PRId64 ",%.3f,%.5f,%.2f,%.2f,%.2f,%.2f\n", orders[o->order],
		layouts[o->layout], cores, o->queries, longest / 1e6,
		sqrt(fmax(squares / cores - sum / cores * (sum / cores), 0)) / (sum / cores),
		(double)m->count[CACHE_OWN] / n, (double)m->count[CACHE_CORE] / n,
		(double)m->count[CACHE_SOCKET] / n, (double)m->count[CACHE_MEMORY] / n);
}

int main(int argc, char **argv)
{
	struct options o = {
		.size = graph_size_default,
		.shape = {.cores = 32, .cores_of_socket = 8, .bytes = 4 << 20, .ways = 8},
		.queries = 32768,
		.order = 2,
	};
	const struct argp_child children[] = {{&graph_options, 0, NULL, 0}, {0}};
	const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.children = children,
		.doc = "Simulates the queries of contrib/workloads/recommend on cores with private caches, in the order in which "
		       "poppa-farm's schedule starts them, and prints a row: how long all take by assumed latencies, the standard "
		       "deviation of the cores' times relative to their mean, and how many lines a query finds where.",
	};
	const struct query_settings query = {.levels = 4, .documents = 1000};
	struct machine m = {.options = &o};
	struct farm_schedule *s;
	struct errmsg err = {""};
	uint64_t lines;
	struct task *tasks;
	struct graph *g;
	struct core *k;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	g = graph_open(&o.size, NULL, &err);
	if (!g)
		error(EXIT_FAILURE, 0, "%s", err.text);
	m.vertices = o.size.documents + o.size.users;
	m.slots_at = (graph_bytes(g) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	lines = (m.slots_at + (uint64_t)m.vertices * o.shape.cores * sizeof(struct slot)) /
			CACHE_LINE +
		1;
	if (lines > UINT32_MAX)
		error(EXIT_FAILURE, 0, "%" PRIu64 " lines of memory are more than can be simulated",
			lines);
	o.shape.lines = (uint32_t)lines;
	m.caches = caches_create(&o.shape);
	tasks = calloc((size_t)o.queries, sizeof(*tasks));
	s = tasks ? fill(g, &o, tasks) : NULL;
	for (uint32_t i = 0; i < o.shape.cores; i++) {
		struct query_watch watch = {on_read, on_slot, &m.core[i]};

		m.core[i].machine = &m;
		m.core[i].number = i;
		m.core[i].worker = query_worker_create(g, &query, &watch);
		if (!m.core[i].worker)
			error(EXIT_FAILURE, 0, "no memory");
	}
	if (!m.caches || !s)
		error(EXIT_FAILURE, 0, "no memory");
	while ((k = first_idle(&m)) != NULL) {
		struct task *t = (struct task *)farm_schedule_next(s, k->number);
		uint32_t best;

		if (t)
			query_run(k->worker, t->document, &best, 1);
		else
			k->over = true;
	}
	report(&m);
	for (uint32_t i = 0; i < o.shape.cores; i++)
		query_worker_destroy(m.core[i].worker);
	farm_schedule_destroy(s);
	free(tasks);
	caches_destroy(m.caches);
	graph_close(g);
	return 0;
}
