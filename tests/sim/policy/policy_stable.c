/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stable matching by the degradations that the history expects (Cooper, Llull et al. 2017). */
#include "sim/policy/policy.h"

#include <math.h>
#include <stdlib.h>

#include "sim/policy/assign.h"
#include "sim/learn.h"
#include "sim/policy/window.h"

void policy_stable_plan(struct sim *s, const int *job, int count)
{
	struct window w;

	if (window_find(s, job, count, &w))
		s->out_of_memory = 1;
	for (int i = 0; i < w.jobs && !s->out_of_memory; i++)
		for (int j = 0; j < w.places; j++) {
			int at = i * w.places + j, partner = w.partner[j];

			w.worth[0][at] = w.worth[1][at] = NAN;
			if (partner == NOBODY || !window_fits(&w, i, j) ||
				!policy_no_caps(s, w.job[i], partner))
				continue;
			w.worth[0][at] = -learn_expect(s, w.job[i], partner);
			w.worth[1][at] = -learn_expect(s, partner, w.job[i]);
		}
	if (!s->out_of_memory && w.jobs) {
		if (assign_stable(w.jobs, w.places, w.worth[0], w.worth[1], w.out))
			s->out_of_memory = 1;
		else
			window_give(s, &w);
	}
	window_free(&w);
}

/* Without a place of its own a job takes what it expects to be best for itself, nodes with partners
 * before empty ones. */
struct choice policy_stable(struct sim *s, int job, struct offer *o, int count, int need)
{
	struct group *group = malloc((size_t)count * sizeof(*group));
	struct offer *scratch = malloc((size_t)count * sizeof(*scratch));
	struct run *r = &s->run[job];
	int place = r->place;

	(void)need;
	r->place = PLACE_ANY;
	if (place == PLACE_LATER || !group || !scratch) {
		s->out_of_memory |= !group || !scratch;
	} else {
		int groups = policy_group(o, count, group);

		for (int g = 0; g < groups; g++) {
			int partner = group[g].partner;

			if (partner == NOBODY)
				group[g].rank = 1;
			else if (partner == place)
				group[g].rank = -2;
			else
				group[g].rank = learn_expect(s, job, partner);
		}
		policy_order(o, count, group, groups, scratch);
	}
	free(group);
	free(scratch);
	return (struct choice){
		.count = place == PLACE_LATER ? 0 : count, .later = place == PLACE_LATER};
}
