/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the forecasts of groups with those of their pairs. */
#include "striping/reuse/group_overlap.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* So many groups of each size are drawn for each class, the same ones each time: what is usual is
 * then off by a few per cent of a factor that is near 1. */
#define DRAWS 32

struct member {
	int curve;                         /* its place in curve[]; -1 = it has no profile */
	double until;                      /* weight of it and of those before it */
	double own[GROUP_LANES_MAX + 1];   /* the factor where its class has all lanes */
	double usual[GROUP_LANES_MAX + 1]; /* and what group_overlap_usual() answers */
};

struct group_overlap {
	int classes, curves;
	struct cache_curve *curve;
	float *pair; /* [one * curves + other]: the forecasts of pairs */
	struct member class[];
};

/* Of a class that has a curve. */
static double group_factor(
	const struct group_overlap *g, int class_number, const int *others, int count)
{
	const struct cache_curve *one, *other[GROUP_LANES_MAX];
	const int own = g->class[class_number].curve;
	double pairs = 0;
	int known = 0;

	for (int i = 0; i < count && known < GROUP_LANES_MAX - 1; i++) {
		int curve = g->class[others[i]].curve;

		if (curve < 0)
			continue;
		other[known++] = &g->curve[curve];
		pairs += g->pair[own * g->curves + curve];
	}
	if (known < 2)
		return 1;
	one = &g->curve[own];
	return fmin(
		fmax(exp(pairs - shared_cache_forecast(one, other, known)), 1 / GROUP_OVERLAP_MOST),
		GROUP_OVERLAP_MOST);
}

static int in_range(int lanes)
{
	return lanes < 2 ? 2 : lanes < GROUP_LANES_MAX ? lanes : GROUP_LANES_MAX;
}

/* The class to whom a number from 0 to 1 falls. */
static int drawn(const struct group_overlap *g, double number)
{
	double at = number * g->class[g->classes - 1].until;
	int low = 0, high = g->classes - 1;

	while (low < high) {
		int mid = (low + high) / 2;

		if (g->class[mid].until > at)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* A number from 0 to 1, less than 1: a linear congruential generator is good enough to draw by. */
static double next_number(uint32_t *state)
{
	*state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
	return *state / 4294967296.0;
}

static void find_usual(struct group_overlap *g, int class_number)
{
	struct member *m = &g->class[class_number];
	int others[GROUP_LANES_MAX];
	uint32_t state = 0;

	for (int lanes = 0; lanes <= GROUP_LANES_MAX; lanes++) {
		double sum = 0;

		m->own[lanes] = m->usual[lanes] = 1;
		if (m->curve < 0 || lanes <= 2)
			continue;
		for (int i = 0; i < lanes - 1; i++)
			others[i] = class_number;
		m->own[lanes] = group_factor(g, class_number, others, lanes - 1);
		for (int draw = 0; draw < DRAWS; draw++) {
			for (int i = 0; i < lanes - 1; i++)
				others[i] = drawn(g, next_number(&state));
			sum += group_factor(g, class_number, others, lanes - 1);
		}
		m->usual[lanes] = sum / DRAWS / m->own[lanes];
	}
}

static void find_pairs(struct group_overlap *g)
{
	for (int i = 0; i < g->curves; i++)
		for (int j = 0; j < g->curves; j++) {
			const struct cache_curve *other = &g->curve[j];

			g->pair[i * g->curves + j] =
				(float)shared_cache_forecast(&g->curve[i], &other, 1);
		}
}

struct group_overlap *group_overlap_new(
	const struct cache_forecast *f, const int *profile, const double *weight, int count)
{
	struct group_overlap *g = malloc(sizeof(*g) + (size_t)count * sizeof(g->class[0]));
	double until = 0;

	if (!g)
		return NULL;
	*g = (struct group_overlap){.classes = count};
	g->curve = malloc(((size_t)count + 1) * sizeof(*g->curve));
	for (int i = 0; g->curve && i < count; i++) {
		g->class[i].curve = profile[i] < 0 ? -1 : g->curves;
		g->class[i].until = until += weight[i];
		if (profile[i] >= 0)
			g->curve[g->curves++] = *cache_forecast_curve(f, profile[i]);
	}
	if (g->curves)
		g->pair = malloc((size_t)g->curves * (size_t)g->curves * sizeof(*g->pair));
	if (!g->pair) {
		group_overlap_free(g);
		return NULL;
	}
	find_pairs(g);
	for (int i = 0; i < count; i++)
		find_usual(g, i);
	return g;
}

void group_overlap_free(struct group_overlap *g)
{
	if (!g)
		return;
	free(g->curve);
	free(g->pair);
	free(g);
}

double group_overlap_factor(
	const struct group_overlap *g, int lanes, int class_number, const int *others, int count)
{
	if (!g || lanes <= 2 || g->class[class_number].curve < 0)
		return 1;
	return group_factor(g, class_number, others, count) /
	       g->class[class_number].own[in_range(lanes)];
}

double group_overlap_usual(const struct group_overlap *g, int lanes, int class_number)
{
	return g ? g->class[class_number].usual[in_range(lanes)] : 1;
}
