/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By how much several partners slow a program down less, or more, than one by one. */
#pragma once

#include "striping/reuse/cache_forecast.h"

/* The most lanes of a node. */
#define GROUP_LANES_MAX 16
/* No factor is above this, or below one by this: profiles are of one input, and a cache is not all
 * that partners share. */
#define GROUP_OVERLAP_MOST 4.0

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
 * profile[i] is the number in f of class i, -1 without a profile; a share of all lanes goes to it
 * by weight[i]. f stays the caller's and is not needed afterwards. Takes a tenth of a second for
 * 256 classes. NULL without memory, or where none has a profile: then all factors are 1.
 */
struct group_overlap *group_overlap_new(
	const struct cache_forecast *f, const int *profile, const double *weight, int count);
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
