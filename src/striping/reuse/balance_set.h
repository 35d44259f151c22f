/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which groups of programs share a cache best, and which of them runs next (TR-17-04, 6.4). */
#pragma once

#include <stdint.h>

#include "common/errmsg.h"
#include "striping/reuse/histogram.h"

/* With more there are too many to look at each. */
#define BALANCE_GROUPS_MAX 100000

/* Bit i of members: program i, counted from 0. */
struct balance_group {
	uint32_t members;
	double miss_rate; /* what is expected of the group */
};

/*
 * PERF: the group with the lowest miss rate, but a program that was long not chosen is in the next
 * one. FAIR: among the admissible groups, which are those with at most a given miss rate, the one
 * whose members were chosen least often.
 */
enum balance_policy { BALANCE_PERF, BALANCE_FAIR };

struct balance_set;

/* Expected miss rate of the size programs whose numbers are in member. */
typedef double (*balance_rate_fn)(const int *member, int size, void *arg);

/*
 * All groups of size out of so many programs. rate() is asked once for each. The caller frees the
 * set with balance_set_free(). NULL with err: the numbers allow no group or too many, or there is
 * no memory.
 */
struct balance_set *balance_set_new(
	int programs, int size, balance_rate_fn rate, void *arg, struct errmsg *err);
void balance_set_free(struct balance_set *set);

/* Group i, by the miss rate, lowest first; NULL behind the last. */
const struct balance_group *balance_set_group(const struct balance_set *set, int i);

/* The least miss rate with which every program is in an admissible group, so that none starves. */
double balance_set_threshold(const struct balance_set *set);

/* The group that runs next, which counts as chosen. Where no group is admissible it is the one with
 * the lowest miss rate. */
const struct balance_group *balance_set_next(
	struct balance_set *set, enum balance_policy policy, double threshold);
