/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes over the nodes of running co-located jobs. */
#include "plugins/compat/select_compat.h"

#include "plugins/select_stripe/layout.h"
#include "plugins/select_stripe/paces.h"
#include "plugins/select_stripe/tracker.h"

/* The golden ratio, in 64 bits: products with it are spread well. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

struct pace_known {
	uint32_t id; /* 0 = none */
	double pace;
};

void paces_begin(struct paces *p, const struct outlook *outlook, size_t jobs)
{
	*p = (struct paces){.outlook = outlook, .room = 1};
	while (p->room < 2 * jobs + 1)
		p->room *= 2;
	p->known = xcalloc(p->room, sizeof(*p->known));
}

void paces_end(struct paces *p)
{
	xfree(p->known);
}

static int class_at(const struct paces *p, int node, int i)
{
	const struct partner *who = tracker_partner(occupancy_at(tracker_map(), node, i, NULL));

	return outlook_class(p->outlook, who ? who->class_name : "");
}

/* How fast a job of a class is on a node of so many lanes, where it is the one with this id, as a
 * share of its usual speed. */
static double pace_on(const struct paces *p, int node, int lanes, uint32_t id, int class_number)
{
	const struct occupancy *map = tracker_map();
	int others[LANE_PARTNERS_MAX], count = 0;

	for (int i = 0; i < occupancy_count(map, node) && count < LANE_PARTNERS_MAX; i++)
		if (occupancy_at(map, node, i, NULL)->id != id)
			others[count++] = class_at(p, node, i);
	return outlook_among(p->outlook, lanes, class_number, others, count) /
	       outlook_usual(p->outlook, lanes, class_number);
}

/* The same for nodes with the same jobs, and for no others but by an accident that does no harm. */
static uint64_t jobs_on(int node)
{
	const struct occupancy *map = tracker_map();
	uint64_t sum = 0;

	for (int i = 0; i < occupancy_count(map, node); i++)
		sum += occupancy_at(map, node, i, NULL)->id * SPREAD;
	return sum;
}

/* How fast the whole job is: it waits for its slowest node. A node with the same jobs as the one
 * before it tells nothing new. */
static double pace_now(const struct paces *p, const struct occupancy_job *job, int class_number)
{
	uint64_t last = 0;
	double pace = 1;
	bool any = false;

	for (int i = 0; i < job->count; i++) {
		const struct layout *layout = layout_of(job->node[i]);
		uint64_t here = jobs_on(job->node[i]);
		double on;

		if (!layout || (any && here == last))
			continue;
		on = pace_on(p, job->node[i], layout->lanes, job->id, class_number);
		pace = any ? MIN(pace, on) : on;
		any = true;
		last = here;
	}
	return pace;
}

static double pace_of(struct paces *p, const struct occupancy_job *job, int class_number)
{
	size_t at = (size_t)(job->id * SPREAD >> 32) & (p->room - 1);

	for (size_t i = 0; i < p->room; i++, at = (at + 1) & (p->room - 1)) {
		struct pace_known *k = &p->known[at];

		if (!k->id)
			*k = (struct pace_known){job->id, pace_now(p, job, class_number)};
		if (k->id == job->id)
			return k->pace;
	}
	return pace_now(p, job, class_number);
}

int paces_of(struct paces *p, int node, uint64_t positions,
	struct lane_partner partner[LANE_PARTNERS_MAX])
{
	int count = 0;

	for (int i = 0; i < 64 && count < LANE_PARTNERS_MAX; i++) {
		const struct occupancy_job *job;
		int number;

		if (!(positions >> i & 1))
			continue;
		job = occupancy_at(tracker_map(), node, i, NULL);
		number = class_at(p, node, i);
		partner[count++] =
			(struct lane_partner){number, job->count, pace_of(p, job, number)};
	}
	return count;
}
