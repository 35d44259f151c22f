/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up what pairs of classes made together. */
#include "accounting/bill/gains.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two jobs that were each other's only partner, and what they made. */
struct both {
	const struct bill *a, *b;
	const struct compact *of_a, *of_b;
	double shared_s, stp;
};

static int compare_classes(const void *a, const void *b)
{
	const struct gain_class *x = a, *y = b;
	int rc = strcmp(x->user, y->user);

	rc = rc ? rc : strcmp(x->program, y->program);
	return rc ? rc : x->named - y->named;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct gain_pair *x = a, *y = b;

	return x->one != y->one ? x->one - y->one : x->other - y->other;
}

static struct gain_class class_of(const struct bill *b)
{
	return (struct gain_class){
		.user = b->user, .program = b->program, .named = b->program != b->name};
}

/* Whether the bill is the first one of such a pair, with a figure for both. */
static bool find_both(const struct bills *bills, const struct compact *compact,
	const struct bill *b, struct both *both)
{
	const struct bill *p = bills_only_partner(bills, b);

	if (!p || p->job_id < b->job_id)
		return false;
	*both = (struct both){b, p, &compact[b - bills->bill], &compact[p - bills->bill],
		fmin(b->facts->co * (double)b->elapsed_s, p->facts->co * (double)p->elapsed_s), 0};
	both->stp = compact_stp(both->of_a, b, both->of_b, p);
	return both->shared_s > 0 && !isnan(both->stp);
}

/* Sums, until finish() makes means of them. */
static void add(struct gain *g, const struct gain *more)
{
	g->pairs += more->pairs;
	g->shared_s += more->shared_s;
	g->stp += more->stp;
}

static void finish(struct gain *g)
{
	g->stp = g->pairs ? g->stp / g->shared_s : NAN;
}

static double power(const struct bill *b)
{
	return b->energy_j / (double)b->elapsed_s;
}

static void add_see(struct gains *g, const struct both *both)
{
	double used = (power(both->a) + power(both->b)) / 2;
	double see = both->stp / used * (both->of_a->power_w + both->of_b->power_w);

	if (isnan(see))
		return;
	g->see += see;
	g->see_pairs++;
}

static int number_of(const struct gains *g, const struct bill *b)
{
	const struct gain_class wanted = class_of(b);
	const struct gain_class *c =
		bsearch(&wanted, g->class, (size_t)g->classes, sizeof(*g->class), compare_classes);

	return (int)(c - g->class);
}

static void add_both(struct gains *g, const struct both *both)
{
	int a = number_of(g, both->a), b = number_of(g, both->b);
	bool sure = compact_sure(both->of_a) && compact_sure(both->of_b);
	const struct gain one = {1, both->shared_s, both->stp * both->shared_s};
	struct gain_pair *p = &g->pair[g->pairs++];

	*p = (struct gain_pair){.one = a < b ? a : b, .other = a < b ? b : a};
	add(sure ? &p->sure : &p->unsure, &one);
	g->class[a].shared_s += both->shared_s;
	g->class[b].shared_s += both->shared_s;
	g->unsure += !sure;
	if (!sure)
		return;
	add(&g->all, &one);
	add_see(g, both);
}

/* Leaves one of each class in the list, or of each pair of classes, whose sums it adds up. */
static void merge_classes(struct gains *g)
{
	int kept = 0;

	qsort(g->class, (size_t)g->classes, sizeof(*g->class), compare_classes);
	for (int i = 0; i < g->classes; i++)
		if (!kept || compare_classes(&g->class[kept - 1], &g -> class[i]))
			g->class[kept++] = g->class[i];
	g->classes = kept;
}

static void merge_pairs(struct gains *g)
{
	int kept = 0;

	qsort(g->pair, (size_t)g->pairs, sizeof(*g->pair), compare_pairs);
	for (int i = 0; i < g->pairs; i++) {
		if (!kept || compare_pairs(&g->pair[kept - 1], &g->pair[i])) {
			g->pair[kept++] = g->pair[i];
			continue;
		}
		add(&g->pair[kept - 1].sure, &g->pair[i].sure);
		add(&g->pair[kept - 1].unsure, &g->pair[i].unsure);
	}
	g->pairs = kept;
	for (int i = 0; i < kept; i++) {
		finish(&g->pair[i].sure);
		finish(&g->pair[i].unsure);
	}
}

int gains_make(const struct bills *bills, const struct compact *compact, struct gains *g)
{
	struct both *both = calloc((size_t)bills->count + 1, sizeof(*both));
	int n = 0;

	*g = (struct gains){.see = 0};
	for (int i = 0; both && i < bills->count; i++)
		n += find_both(bills, compact, &bills->bill[i], &both[n]);
	g->class = both ? calloc(2 * (size_t)n + 1, sizeof(*g->class)) : NULL;
	g->pair = both ? calloc((size_t)n + 1, sizeof(*g->pair)) : NULL;
	if (!g->class || !g->pair) {
		gains_free(g);
		free(both);
		return -1;
	}
	for (int i = 0; i < n; i++) {
		g->class[g->classes++] = class_of(both[i].a);
		g->class[g->classes++] = class_of(both[i].b);
	}
	merge_classes(g);
	for (int i = 0; i < n; i++)
		add_both(g, &both[i]);
	free(both);
	merge_pairs(g);
	finish(&g->all);
	g->see = g->see_pairs ? g->see / g->see_pairs : NAN;
	return 0;
}

void gains_free(struct gains *g)
{
	free(g->class);
	free(g->pair);
	memset(g, 0, sizeof(*g));
}
