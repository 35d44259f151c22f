/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By how much several partners slow a program down less, or more, than one by one. */
#pragma once

#include "striping/reuse/cache_forecast.h"

/* The most lanes of a node. */
#define GROUP_LANES_MAX 16
/* No factor is above this, or below one by this: profiles are of one input, and a cache is not all
 * that partners share. */
#define GROUP_OVERLAP_MOST 2.0

/*
 * Who knows classes pair by pair takes each partner to slow a job down by a factor of its own. What
 * a cache does is not so: one that holds two programs may not hold three, and what two have pushed
 * out already the third cannot push out again. The factor here is by how much the forecast of the
 * group is above the product of the forecasts of its pairs (shared_cache_forecast()), so it
 * corrects pairs that were measured as well.
 *
 * Classes go by numbers of the caller's. Not changed once it is made.
 */
struct group_overlap;

/*
 * name[i] is class i, of which a share of all lanes goes by weight[i]; NULL is a class of which
 * nothing is known. f stays the caller's and is not needed afterwards. Takes some 20 ms for 256
 * classes. NULL without memory, or where f has none of them: then all factors are 1.
 */
struct group_overlap *group_overlap_new(
	const struct cache_forecast *f, const char *const *name, const double *weight, int count);
void group_overlap_free(struct group_overlap *g);

/*
 * The factor on the speed of a job among `count` others on a node of so many lanes, where speeds
 * are shares of that with all lanes taken by its own class: of two factors, the group's and that of
 * its own class everywhere, the quotient. Partners without a profile leave the others' as it is. 1
 * with two lanes, and of NULL. Looks at curves alone: (count + 1) * 8 steps.
 */
double group_overlap_factor(
	const struct group_overlap *g, int lanes, int class_number, const int *others, int count);

/* The same on average over partners that come by their weights, on a node with all lanes taken. */
double group_overlap_usual(const struct group_overlap *g, int lanes, int class_number);
