/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes up a graph of readers, finds its groups, and keeps it in a file. */
#include "recommend_graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/xorshift.h"

#define MAGIC UINT64_C(0x3168706172677072) /* "rpgraph1" */
#define GROUP_DOCUMENTS 80
#define FAITHFUL 0.85 /* share of what users read within their group */
#define DAYS 3650
#define ROUNDS 8 /* of finding groups; after few of them nothing changes any more */

struct header {
	uint64_t magic;
	struct graph_size size;
	uint64_t bytes; /* of the whole file */
};

/* What lies in memory and in the file: the header, the offsets of all vertices, the vertices. */
struct graph {
	struct header *header;
	const uint64_t *offset;
	bool mapped;
};

struct reading {
	uint32_t document, user, times;
};

static uint32_t vertices(const struct graph_size *s)
{
	return s->documents + s->users;
}

const struct graph_size *graph_size_of(const struct graph *g)
{
	return &g->header->size;
}

uint64_t graph_offset(const struct graph *g, uint32_t vertex)
{
	return g->offset[vertex];
}

const struct vertex *graph_at(const struct graph *g, uint64_t offset)
{
	return (const struct vertex *)((const char *)g->header + offset);
}

size_t graph_bytes(const struct graph *g)
{
	return g->header->bytes;
}

/* A number below n; small ones are likelier the higher the power is. */
static uint32_t skewed(uint64_t *random, uint32_t n, int power)
{
	double x = xorshift_share(random), y = x;

	while (--power)
		y *= x;
	return (uint32_t)(y * n);
}

/* The place of a vertex among those of its group says how much it is read; its number says nothing
 * of it: it is i times a number without a factor in common with n. */
static uint32_t scattered(uint32_t i, uint32_t n)
{
	uint64_t step = n / 2 + 1, a, b;

	for (;; step++) {
		for (a = step, b = n; b;) {
			uint64_t rest = a % b;

			a = b;
			b = rest;
		}
		if (a == 1)
			return (uint32_t)((i * step + n / 3) % n);
	}
}

static int by_document(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;

	if (x->document != y->document)
		return x->document < y->document ? -1 : 1;
	return (x->user > y->user) - (x->user < y->user);
}

/* Sorts, and makes one of those that are the same. Returns how many there are. */
static uint32_t merge(struct reading *r, uint32_t n)
{
	uint32_t kept = 0;

	qsort(r, n, sizeof(*r), by_document);
	for (uint32_t i = 0; i < n; i++)
		if (kept && !by_document(&r[kept - 1], &r[i]))
			r[kept - 1].times += r[i].times;
		else
			r[kept++] = r[i];
	return kept;
}

/* As many different readings as there are to be edges. */
static struct reading *make_up(const struct graph_size *s)
{
	struct reading *r = malloc(s->edges * sizeof(*r));
	uint32_t *document = malloc(s->documents * sizeof(*document));
	uint32_t *user = malloc(s->users * sizeof(*user));
	uint32_t groups = (s->documents + GROUP_DOCUMENTS - 1) / GROUP_DOCUMENTS, n = 0;
	uint64_t random = s->seed * 2 + 1;

	if (groups > s->users)
		groups = s->users;
	if (r && document && user) {
		uint32_t round = 0;

		for (uint32_t i = 0; i < s->documents; i++)
			document[i] = scattered(i, s->documents);
		for (uint32_t i = 0; i < s->users; i++)
			user[i] = scattered(i, s->users);
		/* What comes out twice is read more often. After some rounds only those are missing
		 * that hardly anybody reads. */
		for (; n < s->edges; n = merge(r, s->edges), round++)
			for (uint32_t i = n; i < s->edges; i++) {
				uint32_t power = round < 8 ? 2 : 1;
				uint32_t u = skewed(&random, s->users, power);
				uint32_t of = u % groups;
				bool faithful = round < 8 && xorshift_share(&random) < FAITHFUL;
				uint32_t many = faithful ? (s->documents - of + groups - 1) / groups
							 : s->documents;
				uint32_t d = skewed(&random, many, power);

				r[i] = (struct reading){
					document[faithful ? of + d * groups : d], user[u], 1};
			}
	} else {
		free(r);
		r = NULL;
	}
	free(document);
	free(user);
	return r;
}

static struct vertex *vertex_at(struct header *h, const uint64_t *offset, uint32_t v)
{
	return (struct vertex *)((char *)h + offset[v]);
}

static void connect(struct header *h, const uint64_t *offset, uint32_t from, uint32_t to,
	const struct reading *r, uint32_t day, uint32_t of_document)
{
	struct vertex *v = vertex_at(h, offset, from);

	v->edge[v->edges++] = (struct edge){
		.to = to,
		.times = r->times,
		.to_at = offset[to],
		.weight = (float)r->times / (float)of_document,
		.last_day = day,
	};
	v->times += r->times;
}

/* Gives each vertex of [first, end) the group that its edges lead to most. Of equal ones it is the
 * lowest. weight: one for each group, all 0, also afterwards. Returns how many changed. */
static uint32_t regroup(
	struct header *h, const uint64_t *offset, uint32_t first, uint32_t end, uint32_t *weight)
{
	uint32_t changed = 0;

	for (uint32_t i = first; i < end; i++) {
		struct vertex *v = vertex_at(h, offset, i);
		uint32_t best = v->group;

		for (uint32_t k = 0; k < v->edges; k++) {
			uint32_t group = vertex_at(h, offset, v->edge[k].to)->group;

			weight[group] += v->edge[k].times;
			if (weight[group] > weight[best] ||
				(weight[group] == weight[best] && group < best))
				best = group;
		}
		for (uint32_t k = 0; k < v->edges; k++)
			weight[vertex_at(h, offset, v->edge[k].to)->group] = 0;
		changed += best != v->group;
		v->group = best;
	}
	return changed;
}

/* Lays the vertices out and connects them. */
static struct header *lay_out(const struct graph_size *s, const struct reading *r)
{
	uint32_t n = vertices(s);
	size_t bytes = sizeof(struct header) + (n + 1) * sizeof(uint64_t) +
		       n * sizeof(struct vertex) + 2 * (size_t)s->edges * sizeof(struct edge);
	uint32_t *degree = calloc(n, sizeof(*degree)), *weight = calloc(n, sizeof(*weight));
	struct header *h = calloc(1, bytes);
	uint64_t *offset = (uint64_t *)(h + 1), random = s->seed * 2 + 3;

	if (!degree || !weight || !h) {
		free(degree);
		free(weight);
		free(h);
		return NULL;
	}
	*h = (struct header){MAGIC, *s, bytes};
	for (uint32_t i = 0; i < s->edges; i++) {
		degree[r[i].document]++;
		degree[s->documents + r[i].user]++;
		weight[r[i].document] += r[i].times;
	}
	offset[0] = sizeof(*h) + (n + 1) * sizeof(uint64_t);
	for (uint32_t i = 0; i < n; i++) {
		struct vertex *v = vertex_at(h, offset, i);
		bool document = i < s->documents;

		v->number = v->group = i;
		snprintf(v->title, sizeof(v->title), "%s %u", document ? "document" : "user",
			document ? i : i - s->documents);
		offset[i + 1] = offset[i] + sizeof(*v) + degree[i] * sizeof(struct edge);
	}
	for (uint32_t i = 0; i < s->edges; i++) {
		uint32_t d = r[i].document, u = s->documents + r[i].user;
		uint32_t day = (uint32_t)(xorshift_share(&random) * DAYS);

		connect(h, offset, d, u, &r[i], day, weight[d]);
		connect(h, offset, u, d, &r[i], day, weight[d]);
	}
	memset(weight, 0, n * sizeof(*weight));
	for (int i = 0; i < ROUNDS; i++)
		if (!(regroup(h, offset, s->documents, n, weight) +
			    regroup(h, offset, 0, s->documents, weight)))
			break;
	free(degree);
	free(weight);
	return h;
}

/* Returns NULL with errno 0 where the file is there and is another graph. */
static struct header *map(const char *file, const struct graph_size *s)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct header *h = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	errno = 0;
	if (!fstat(fd, &st) && (size_t)st.st_size >= sizeof(*h))
		h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		return NULL;
	if (h->magic == MAGIC && h->bytes == (size_t)st.st_size &&
		h->size.documents == s->documents && h->size.users == s->users &&
		h->size.edges == s->edges && h->size.seed == s->seed)
		return h;
	munmap(h, (size_t)st.st_size);
	errno = 0;
	return NULL;
}

/* Another process may do the same at the same time: the file is whole from its first moment. */
static int save(const struct header *h, const char *file)
{
	char *path;
	FILE *f = NULL;
	int fd, saved;

	if (asprintf(&path, "%s.XXXXXX", file) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		f = fdopen(fd, "w");
	if (f && fwrite(h, 1, h->bytes, f) == h->bytes && !fflush(f) && !fchmod(fd, 0644) &&
		!rename(path, file)) {
		fclose(f);
		free(path);
		return 0;
	}
	saved = errno;
	if (fd >= 0)
		unlink(path);
	if (f)
		fclose(f);
	free(path);
	errno = saved;
	return -1;
}

static struct header *make(const struct graph_size *s, struct errmsg *err)
{
	struct reading *r = make_up(s);
	struct header *h = r ? lay_out(s, r) : NULL;

	free(r);
	if (!h)
		errmsg_set(err, "no memory for %u edges", s->edges);
	return h;
}

struct graph *graph_open(const struct graph_size *s, const char *file, struct errmsg *err)
{
	struct graph *g = calloc(1, sizeof(*g));
	struct header *made = NULL;

	if (!g) {
		errmsg_set(err, "no memory");
		return NULL;
	}
	if (!file) {
		g->header = make(s, err);
	} else {
		g->header = map(file, s);
		if (!g->header && errno == ENOENT) {
			made = make(s, err);
			if (!made) {
				free(g);
				return NULL;
			}
			if (save(made, file))
				errmsg_set(err, "%s: %s", file, strerror(errno));
			else
				g->header = map(file, s);
			free(made);
		} else if (!g->header) {
			errmsg_set(err, "%s: %s", file,
				errno ? strerror(errno)
				      : "this is not a graph of these numbers: give another name, or delete it");
		}
		g->mapped = true;
	}
	if (!g->header) {
		free(g);
		return NULL;
	}
	g->offset = (const uint64_t *)(g->header + 1);
	return g;
}

void graph_close(struct graph *g)
{
	if (!g)
		return;
	if (g->mapped)
		munmap(g->header, g->header->bytes);
	else
		free(g->header);
	free(g);
}
