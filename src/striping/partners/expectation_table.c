/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the tables of users, classes, variants and rows that the model is fitted to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "striping/history/pair_evidence.h"
#include "striping/partners/expectation_model.h"

/* What one run of a minute or more is off by, in y, as a variance; besides what it is off by
 * because it is short (pair_evidence.h). */
#define RUN_VARIANCE 4e-4

/* Names, one after the other. */
struct names {
	char *text;
	size_t used, room;
	int count;
	bool failed; /* no memory */
};

static void add_name(struct names *n, const char *name)
{
	size_t length = strlen(name) + 1;

	if (n->used + length > n->room) {
		size_t room = 2 * (n->used + length) + 4096;
		char *text = realloc(n->text, room);

		if (!text) {
			n->failed = true;
			return;
		}
		n->text = text;
		n->room = room;
	}
	memcpy(n->text + n->used, name, length);
	n->used += length;
	n->count++;
}

/* A name with all its parents. */
static void add_with_parents(struct names *n, const char *name)
{
	char parent[PAIRS_CLASS_MAX], next[PAIRS_CLASS_MAX];

	add_name(n, name);
	while (class_parent(name, next)) {
		strcpy(parent, next);
		add_name(n, parent);
		name = parent;
	}
}

/* Rows come class by class, so the name of the job is often the one before. */
struct adding {
	struct names names;
	const char *job;
	int rows;
};

static void add_names(const struct pairs_row *row, void *arg)
{
	struct adding *a = arg;

	if (!a->job || strcmp(a->job, row->job))
		add_with_parents(&a->names, row->job);
	a->job = row->job;
	add_with_parents(&a->names, row->partner);
	a->rows++;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static int compare_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct node *)node)->name);
}

int expectation_node(const struct expectation *e, const char *name)
{
	const struct node *n =
		bsearch(name, e->node, (size_t)e->nodes, sizeof(*e->node), compare_name);

	return n ? (int)(n - e->node) : -1;
}

/* Finds the node's place among the others. */
static void place(struct expectation *e, struct node *n)
{
	char parent[PAIRS_CLASS_MAX];

	n->parent = class_parent(n->name, parent) ? expectation_node(e, parent) : -1;
	n->level = *n->name == CLASS_OF_USER      ? LEVEL_USER
		   : n->name[class_base(n->name)] ? LEVEL_VARIANT
						  : LEVEL_CLASS;
	n->class = n->level == LEVEL_USER      ? -1
		   : n->level == LEVEL_VARIANT ? n->parent
					       : (int)(n - e->node);
	n->profile = -1;
	e->users |= n->level == LEVEL_USER;
}

static int make_nodes(struct expectation *e, const struct names *names)
{
	const char *at = names->text;
	int count = 0;

	e->names = names->text;
	e->node = calloc((size_t)names->count + 1, sizeof(*e->node));
	if (!e->node || names->failed)
		return -1;
	for (int i = 0; i < names->count; i++, at += strlen(at) + 1)
		e->node[i].name = at;
	qsort(e->node, (size_t)names->count, sizeof(*e->node), by_name);
	for (int i = 0; i < names->count; i++)
		if (!count || strcmp(e->node[count - 1].name, e->node[i].name))
			e->node[count++] = e->node[i];
	e->nodes = count;
	for (int i = 0; i < count; i++)
		place(e, &e->node[i]);
	return 0;
}

static void add_row(const struct pairs_row *row, void *arg)
{
	struct expectation *e = arg;
	struct seen *s = &e->seen[e->rows];
	double runs = row->runs > 1 ? row->runs : 1;

	*s = (struct seen){.y = -log1p(-fmin(row->degradation, MOST_D)),
		.noise = RUN_VARIANCE / runs + PAIR_MINUTE_VARIANCE * PAIR_MINUTE_S / row->seconds};
	s->job = e->rows && !strcmp(e->node[s[-1].job].name, row->job)
			 ? s[-1].job
			 : expectation_node(e, row->job);
	s->partner = expectation_node(e, row->partner);
	e->rows++;
}

/* Rows by their classes. */
struct sorted {
	int job_class, partner_class, row;
};

static int by_classes(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->job_class != y->job_class)
		return x->job_class - y->job_class;
	if (x->partner_class != y->partner_class)
		return x->partner_class - y->partner_class;
	return x->row - y->row;
}

/* Sorts the rows, which are in the order of jobs, then partners. 0, or -1 without memory. */
static int sort_rows(struct expectation *e)
{
	struct sorted *sorted = malloc(((size_t)e->rows + 1) * sizeof(*sorted));
	struct seen *seen = malloc(((size_t)e->rows + 1) * sizeof(*seen));

	if (!sorted || !seen) {
		free(sorted);
		free(seen);
		return -1;
	}
	for (int i = 0; i < e->rows; i++)
		sorted[i] = (struct sorted){
			e->node[e->seen[i].job].class, e->node[e->seen[i].partner].class, i};
	qsort(sorted, (size_t)e->rows, sizeof(*sorted), by_classes);
	for (int i = 0; i < e->rows; i++)
		seen[i] = e->seen[sorted[i].row];
	free(sorted);
	free(e->seen);
	e->seen = seen;
	return 0;
}

/* Notes which rows, and groups of them, each class has. */
static void make_groups(struct expectation *e)
{
	struct group *g = NULL;
	int before = -1;

	for (int i = 0; i < e->rows; i++) {
		struct seen *s = &e->seen[i];
		int class = e->node[s->job].class, partner = e->node[s->partner].class;
		struct node *n = &e->node[class];

		if (class != before || g->partner != partner) {
			g = &e->group[e->groups];
			*g = (struct group){.partner = partner, .first = i};
			if (class != before) {
				n->first = i;
				n->first_group = e->groups;
			}
			n->groups++;
			e->groups++;
		}
		before = class;
		g->count++;
		n->count++;
		s->group = e->groups - 1;
		s->variants = s->job != class || s->partner != partner;
		for (int at = s->job; at >= 0; at = e->node[at].parent)
			e->node[at].rows++;
	}
}

int expectation_table(struct expectation *e, const struct pairs *p)
{
	const struct expectation_hints *h = e->hints;
	struct adding a = {.rows = 0};

	pairs_each(p, add_names, &a);
	for (int i = 0; h && i < h->names; i++)
		add_with_parents(&a.names, h->name[i]);
	if (make_nodes(e, &a.names))
		return -1;
	e->seen = malloc(((size_t)a.rows + 1) * sizeof(*e->seen));
	e->group = malloc(((size_t)a.rows + 1) * sizeof(*e->group));
	if (!e->seen || !e->group)
		return -1;
	pairs_each(p, add_row, e);
	if (sort_rows(e))
		return -1;
	make_groups(e);
	return 0;
}
