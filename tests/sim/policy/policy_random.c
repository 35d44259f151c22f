/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policies that choose at random: any partner, no twin, no pair that demands too much. */
#include "sim/policy/policy.h"

#include <math.h>
#include <stdlib.h>

#include "sim/world/draw.h"

/* Of the sum of demands (Poncos, Breitbart et al. 2015). */
#define MOST_DEMAND 0.9

/* As the suite asks: nodes with partners before empty ones. */
struct choice policy_random(struct sim *s, int job, struct offer *o, int count, int need)
{
	struct group *group = malloc((size_t)count * sizeof(*group));
	struct offer *scratch = malloc((size_t)count * sizeof(*scratch));
	int groups;

	(void)need;
	if (group && scratch) {
		groups = policy_group(o, count, group);
		for (int g = 0; g < groups; g++)
			group[g].rank = group[g].partner == NOBODY
						? 1
						: draw_uniform(s->seed, DRAW_PARTNER, (uint64_t)job,
							  (uint64_t)group[g].partner);
		policy_order(o, count, group, groups, scratch);
	} else {
		s->out_of_memory = 1;
	}
	free(group);
	free(scratch);
	return (struct choice){.count = count};
}

bool policy_no_caps(const struct sim *s, int job, int partner)
{
	return !s->work->job[job].capped && !s->work->job[partner].capped;
}

bool policy_no_twins(const struct sim *s, int job, int partner)
{
	return policy_no_caps(s, job, partner) &&
	       s->work->job[job].class_id != s->work->job[partner].class_id;
}

/*
 * The demand of a program is not in the matrix. What stands for it is what it costs others on
 * average, against what the program costs that costs the most.
 */
bool policy_in_bandwidth(const struct sim *s, int job, int partner)
{
	const struct matrix *m = s->matrix;
	double sum = m->inflicted[s->work->job[job].row] + m->inflicted[s->work->job[partner].row];

	return policy_no_caps(s, job, partner) && sum <= MOST_DEMAND * m->most_inflicted;
}
