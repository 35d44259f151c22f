/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists groups by their expected miss rates and chooses among them. */
#include "striping/reuse/balance_set.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Under PERF a program waits for this many times the turns in which each could run once. */
#define PATIENCE 4

struct balance_set {
	int programs, size, groups;
	int chosen[REUSE_GROUP_MAX];  /* how often */
	int waiting[REUSE_GROUP_MAX]; /* choices since it was chosen */
	struct balance_group *group;  /* sorted by miss_rate */
};

/* Groups of size out of programs; BALANCE_GROUPS_MAX + 1 where there are more than that. */
static int count_groups(int programs, int size)
{
	double groups = 1;

	for (int i = 0; i < size; i++)
		groups = groups * (programs - i) / (i + 1);
	return groups > BALANCE_GROUPS_MAX ? BALANCE_GROUPS_MAX + 1 : (int)lround(groups);
}

static int by_miss_rate(const void *a, const void *b)
{
	const struct balance_group *x = a, *y = b;

	if (x->miss_rate != y->miss_rate)
		return x->miss_rate < y->miss_rate ? -1 : 1;
	return x->members < y->members ? -1 : x->members > y->members;
}

/* The next combination in lexical order; false behind the last. */
static bool next_members(int *member, int size, int programs)
{
	int i = size - 1;

	while (i >= 0 && member[i] == programs - size + i)
		i--;
	if (i < 0)
		return false;
	member[i]++;
	for (; i + 1 < size; i++)
		member[i + 1] = member[i] + 1;
	return true;
}

static void list_groups(struct balance_set *set, balance_rate_fn rate, void *arg)
{
	int member[REUSE_GROUP_MAX], n = 0;

	for (int i = 0; i < set->size; i++)
		member[i] = i;
	do {
		struct balance_group *g = &set->group[n++];

		g->members = 0;
		for (int i = 0; i < set->size; i++)
			g->members |= UINT32_C(1) << member[i];
		g->miss_rate = rate(member, set->size, arg);
	} while (next_members(member, set->size, set->programs));
	qsort(set->group, (size_t)set->groups, sizeof(*set->group), by_miss_rate);
}

struct balance_set *balance_set_new(
	int programs, int size, balance_rate_fn rate, void *arg, struct errmsg *err)
{
	struct balance_set *set;
	int groups;

	if (programs < 1 || programs > REUSE_GROUP_MAX || size < 1 || size > programs) {
		errmsg_set(err,
			"there are no groups of %d out of %d programs: name up to %d of them", size,
			programs, REUSE_GROUP_MAX);
		return NULL;
	}
	groups = count_groups(programs, size);
	if (groups > BALANCE_GROUPS_MAX) {
		errmsg_set(err,
			"there are more than %d groups of %d out of %d programs: name fewer",
			BALANCE_GROUPS_MAX, size, programs);
		return NULL;
	}
	set = calloc(1, sizeof(*set));
	if (set)
		set->group = calloc((size_t)groups, sizeof(*set->group));
	if (!set || !set->group) {
		errmsg_set(err, "out of memory");
		free(set);
		return NULL;
	}
	set->programs = programs;
	set->size = size;
	set->groups = groups;
	list_groups(set, rate, arg);
	return set;
}

void balance_set_free(struct balance_set *set)
{
	if (set)
		free(set->group);
	free(set);
}

const struct balance_group *balance_set_group(const struct balance_set *set, int i)
{
	return i >= 0 && i < set->groups ? &set->group[i] : NULL;
}

double balance_set_threshold(const struct balance_set *set)
{
	uint32_t all = (uint32_t)((UINT64_C(1) << set->programs) - 1), seen = 0;
	int i = 0;

	while ((seen |= set->group[i].members) != all)
		i++;
	return set->group[i].miss_rate;
}

/* The best group, or the best with the program that has waited too long. */
static const struct balance_group *best(const struct balance_set *set)
{
	int longest = 0, i = 0;

	for (int p = 1; p < set->programs; p++)
		if (set->waiting[p] > set->waiting[longest])
			longest = p;
	if ((set->waiting[longest] + 1) * set->size < PATIENCE * set->programs)
		return set->group;
	while (!(set->group[i].members >> longest & 1))
		i++;
	return &set->group[i];
}

/* The admissible group whose members have the least sum of choices, as one more of these makes the
 * shares of all programs differ least. */
static const struct balance_group *fairest(const struct balance_set *set, double threshold)
{
	const struct balance_group *found = set->group;
	long least = -1;

	for (int i = 0; i < set->groups && set->group[i].miss_rate <= threshold; i++) {
		long sum = 0;

		for (int p = 0; p < set->programs; p++)
			if (set->group[i].members >> p & 1)
				sum += set->chosen[p];
		if (least < 0 || sum < least) {
			least = sum;
			found = &set->group[i];
		}
	}
	return found;
}

const struct balance_group *balance_set_next(
	struct balance_set *set, enum balance_policy policy, double threshold)
{
	const struct balance_group *g =
		policy == BALANCE_PERF ? best(set) : fairest(set, threshold);

	for (int p = 0; p < set->programs; p++) {
		set->waiting[p]++;
		if (g->members >> p & 1) {
			set->waiting[p] = 0;
			set->chosen[p]++;
		}
	}
	return g;
}
