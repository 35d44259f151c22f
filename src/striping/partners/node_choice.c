/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders the nodes that could take a co-located job. */
#include "striping/partners/node_choice.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A run of candidates with the same partners. */
struct run {
	int first, count;
	long loss; /* in percent */
	int misfit;
};

bool node_choice_matches(const struct poppa_settings *s, int nodes, int partner_nodes)
{
	int small = nodes < partner_nodes ? nodes : partner_nodes;
	int big = nodes < partner_nodes ? partner_nodes : nodes;

	switch (s->stripe_match) {
	case MATCH_EXACT:
		return small == big;
	case MATCH_WITHIN:
		return big - small <= s->stripe_within * big + 1e-9;
	default:
		return true;
	}
}

bool node_choice_serves(
	const struct poppa_settings *s, int group, bool named, int empty, int need, int want)
{
	if (group < 1)
		return false;
	if (group >= want)
		return true;
	return (named || s->stripe_match != MATCH_EXACT) && group + empty >= need;
}

static long percent(double loss)
{
	return lround(100 * loss);
}

static int by_group(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	long loss_a = percent(a->loss), loss_b = percent(b->loss);

	if (loss_a != loss_b)
		return loss_a < loss_b ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static int by_fit(const void *x, const void *y)
{
	const struct run *a = x, *b = y;

	if (a->loss != b->loss)
		return a->loss < b->loss ? -1 : 1;
	if (a->misfit != b->misfit)
		return a->misfit < b->misfit ? -1 : 1;
	return a->first < b->first ? -1 : 1;
}

int node_choice_by_time(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	if (a->shared != b->shared)
		return b->shared - a->shared;
	return by_group(x, y);
}

int node_choice_group(const struct candidate *c, int count, int i)
{
	int end = i;

	while (end < count && c[end].shared == c[i].shared && c[end].group == c[i].group)
		end++;
	return end - i;
}

int node_choice_order(struct candidate *c, int count, int wanted)
{
	struct candidate *sorted;
	struct run *run;
	int runs = 0, n = 0;

	if (count < 2)
		return 0;
	sorted = malloc((size_t)count * sizeof(*sorted));
	run = malloc((size_t)count * sizeof(*run));
	if (!sorted || !run) {
		free(sorted);
		free(run);
		return -1;
	}
	memcpy(sorted, c, (size_t)count * sizeof(*sorted));
	qsort(sorted, (size_t)count, sizeof(*sorted), by_group);
	for (int i = 0; i < count; i += run[runs++].count) {
		int size = node_choice_group(sorted, count, i);

		run[runs].first = i;
		run[runs].count = size;
		run[runs].loss = percent(sorted[i].loss);
		run[runs].misfit = size >= wanted ? size - wanted : INT_MAX - size;
	}
	qsort(run, (size_t)runs, sizeof(*run), by_fit);
	for (int i = 0; i < runs; n += run[i++].count)
		memcpy(c + n, sorted + run[i].first, (size_t)run[i].count * sizeof(*c));
	free(sorted);
	free(run);
	return 0;
}
