/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses lanes by their prices. */
#include "striping/partners/lane_choice.h"

#include <math.h>
#include <stdlib.h>

#include "striping/partners/lane_pace.h"

/* Differences of worth that are noise. */
#define NOISE 0.02
/* Alone on a node a job still has to wait for its partner; and where there is nothing between an
 * empty node and a shared one, the empty one stays so for a job that wants a whole node. */
#define EMPTY_COST 0.02

enum { TOO_SLOW = 1, LOSES };

/* What a node leaves beyond the job's own work there, which is half of its speed. */
static double rest(const struct outlook *o, int mine, int partner, bool others_wait)
{
	if (partner != LANE_EMPTY)
		return outlook_left(o, mine, partner) - outlook_speed(o, mine, partner) / 2;
	/* Where others wait, one of them will come, and then it is left with what it asks for. */
	return (others_wait ? outlook_asks(o, mine) - outlook_alone(o, mine) / 2 : 0) - EMPTY_COST;
}

static int compare(const void *a, const void *b)
{
	const struct lane_group *x = a, *y = b;

	if (x->rank.late != y->rank.late)
		return x->rank.late < y->rank.late ? -1 : 1;
	if (x->rank.rest != y->rank.rest)
		return x->rank.rest > y->rank.rest ? -1 : 1;
	if (x->rank.misfit != y->rank.misfit)
		return x->rank.misfit < y->rank.misfit ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* What nodes beside which the job goes at this pace, or could go faster, leave it in all; -INFINITY
 * where these are too few. The groups are in order. */
static double left_at(const struct lane_group *group, int count, int need, int pace)
{
	double sum = 0.5 * LANE_PACE_STEP * pace * need;
	int wanted = need;

	for (int i = 0; i < count && wanted > 0; i++) {
		int taken = group[i].nodes < wanted ? group[i].nodes : wanted;

		if (group[i].rank.pace < pace || group[i].rank.late == LOSES)
			continue;
		sum += taken * NOISE * (double)group[i].rank.rest;
		wanted -= taken;
	}
	return wanted > 0 ? -INFINITY : sum;
}

void lane_choice(const struct outlook *o, int mine, struct lane_group *group, int count, int need,
	bool others_wait)
{
	double best = -INFINITY;
	bool possible[LANE_PACES] = {false};
	int pace = 0;

	for (int i = 0; i < count; i++) {
		int partner = group[i].partner;
		bool empty = partner == LANE_EMPTY;

		group[i].rank = (struct lane_rank){
			.late = empty || outlook_worth(o, mine, partner) >= 1 ? 0 : LOSES,
			.rest = lround(rest(o, mine, partner, others_wait) / NOISE),
			.misfit = lane_misfit(group[i].nodes, need),
			.pace = lane_pace(
				empty ? outlook_alone(o, mine) : outlook_speed(o, mine, partner))};
		possible[group[i].rank.pace] = true;
	}
	qsort(group, (size_t)count, sizeof(*group), compare);
	for (int p = 0; p < LANE_PACES; p++) {
		double left = possible[p] ? left_at(group, count, need, p) : -INFINITY;

		if (left > best) {
			best = left;
			pace = p;
		}
	}
	for (int i = 0; i < count; i++)
		if (!group[i].rank.late && group[i].rank.pace < pace)
			group[i].rank.late = TOO_SLOW;
	qsort(group, (size_t)count, sizeof(*group), compare);
}
