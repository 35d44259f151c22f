/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works out expected ends, and compares them with the starts that backfill has planned. */
#include "plugins/select_stripe/ends.h"

#include <stdlib.h>

#include "src/common/hostlist.h"

#include "common/clock.h"
#include "plugins/select_stripe/tracker.h"
#include "striping/lanes/lanes.h"
#include "striping/partners/expected_end.h"

SLURM_WEAK(job_list)

#define A_YEAR (365 * 24 * 3600)

static bool counts_progress(const struct ask *ask)
{
	return ask->settings && ask->settings->stripe_timelimit == TIMELIMIT_PROGRESS;
}

/* No limit is moved behind the partition's. 0 = none. */
static time_t latest_end(const job_record_t *job_ptr, time_t start)
{
	const part_record_t *part = job_ptr->part_ptr;

	return part && part->max_time != INFINITE ? start + (time_t)part->max_time * 60 : 0;
}

/* The co-located jobs of the node but the i-th. */
static int beside(int node, int i, const struct partner **others)
{
	const struct occupancy *map = tracker_map();
	int count = 0;

	for (int k = 0; k < occupancy_count(map, node) && count < LANES_MAX; k++) {
		const struct partner *p = tracker_partner(occupancy_at(map, node, k, NULL));

		if (k != i && p)
			others[count++] = p;
	}
	return count;
}

/* Whether some job has come to the node a short time ago. */
static bool is_fresh(const struct ask *ask, int node)
{
	const struct occupancy *map = tracker_map();

	for (int k = 0; k < occupancy_count(map, node); k++) {
		const job_record_t *job_ptr = find_job_record(occupancy_at(map, node, k, NULL)->id);

		if (job_ptr && ask->now - job_ptr->start_time < EXPECTED_FRESH_S)
			return true;
	}
	return false;
}

static time_t recorded_end(const struct ask *ask, const job_record_t *job_ptr)
{
	if (!job_ptr->end_time)
		return ask->now + A_YEAR;
	/* A job past its end is about to end. */
	return MAX(job_ptr->end_time, ask->now + 1);
}

time_t ends_of(const struct ask *ask, int node, int i)
{
	const struct occupancy_job *job = occupancy_at(tracker_map(), node, i, NULL);
	const job_record_t *job_ptr = find_job_record(job->id);
	const struct partner *me = tracker_partner(job), *others[LANES_MAX];
	time_t end;
	int count;

	if (!job_ptr)
		return 0;
	end = recorded_end(ask, job_ptr);
	if (!me || !job_ptr->end_time || !counts_progress(ask) || !is_fresh(ask, node))
		return end;
	count = beside(node, i, others);
	return expected_end(ask->now, end, partner_degradation(me, others, count, 0, ask->pairs), 0,
		latest_end(job_ptr, job_ptr->start_time));
}

int64_t ends_limit_s(const job_record_t *job_ptr)
{
	uint32_t minutes = job_ptr->time_limit;

	if (minutes == NO_VAL && job_ptr->part_ptr) {
		minutes = job_ptr->part_ptr->default_time;
		if (minutes == NO_VAL)
			minutes = job_ptr->part_ptr->max_time;
	}
	return minutes == INFINITE || minutes == NO_VAL ? 0 : INT64_C(60) * minutes;
}

/* Where the limit of a job ends that starts now; 0 = it has none. */
static time_t end_if_started(const struct ask *ask)
{
	int64_t limit_s = ends_limit_s(ask->job_ptr);

	return limit_s ? ask->now + (time_t)limit_s : 0;
}

/*
 * What slurmctld has planned, as of the last walk over all jobs, of which each takes time in which
 * slurmctld does nothing else: so there is none for WALK_REST times as long after it. Backfill
 * plans the jobs of high priority first, so what it has planned since then is of little weight.
 * Guarded by the plugin's lock, as all of the ask.
 */
#define WALK_REST 50
#define NO_PLAN (-1)
/* So many nodes of planned jobs count, those of the jobs that were submitted first: else a user who
 * queues hundreds of jobs as big as the cluster would make a walk take seconds. */
#define MOST_PLANS 65536

/* One node of one job. */
struct plan {
	struct planned job;
	uint32_t priority;
	int next; /* of the same node; NO_PLAN = the last one */
};

static struct {
	struct plan *plan;
	int count, room;
	int *first; /* of each node */
	int nodes;
	int64_t until_ns; /* no walk before then */
} plans;

void ends_forget(void)
{
	xfree(plans.plan);
	xfree(plans.first);
	plans.count = plans.room = plans.nodes = 0;
	plans.until_ns = 0;
}

static void note_plan(const job_record_t *job_ptr, int node)
{
	if (plans.count == plans.room) {
		plans.room = plans.room ? plans.room * 2 : 64;
		xrecalloc(plans.plan, plans.room, sizeof(*plans.plan));
	}
	plans.plan[plans.count] = (struct plan){
		{job_ptr->job_id, job_ptr->start_time}, job_ptr->priority, plans.first[node]};
	plans.first[node] = plans.count++;
}

static void note_plans(const job_record_t *job_ptr)
{
	compat_hostlist_t *list = hostlist_create(job_ptr->sched_nodes);
	char *name;

	while (list && plans.count < MOST_PLANS && (name = hostlist_shift(list))) {
		const node_record_t *node = find_node_record(name);

		if (node && (int)node->index < plans.nodes)
			note_plan(job_ptr, (int)node->index);
		free(name);
	}
	if (list)
		hostlist_destroy(list);
}

static void find_plans(time_t now)
{
	int64_t begin = clock_now();
	const job_record_t *job_ptr;
	list_itr_t *iter;

	if (begin < plans.until_ns)
		return;
	ends_forget();
	plans.nodes = occupancy_nodes(tracker_map());
	plans.first = xcalloc(plans.nodes + 1, sizeof(*plans.first));
	for (int n = 0; n < plans.nodes; n++)
		plans.first[n] = NO_PLAN;
	iter = list_iterator_create(job_list);
	while (plans.count < MOST_PLANS && (job_ptr = list_next(iter)))
		if (IS_JOB_PENDING(job_ptr) && job_ptr->sched_nodes && job_ptr->start_time > now)
			note_plans(job_ptr);
	list_iterator_destroy(iter);
	plans.until_ns = clock_now();
	plans.until_ns += (plans.until_ns - begin) * WALK_REST;
}

/* Whether a job that is planned to have the node, and comes before the one of the ask, is put off
 * where somebody ends at `after` in place of `before`. */
static bool puts_off(
	const struct ask *ask, int node, time_t before, time_t after, struct planned *first)
{
	const job_record_t *me = ask->job_ptr;
	bool found = false;

	for (int i = node < plans.nodes ? plans.first[node] : NO_PLAN; i != NO_PLAN;
		i = plans.plan[i].next) {
		const struct plan *p = &plans.plan[i];
		bool comes_first = p->priority > me->priority ||
				   (p->priority == me->priority && p->job.job_id < me->job_id);

		if (!comes_first || p->job.job_id == me->job_id ||
			!expected_puts_off(before, after, p->job.start))
			continue;
		found = true;
		if (!first->job_id || p->job.start < first->start)
			*first = p->job;
	}
	return found;
}

/* When the i-th job of a node ends if the job of the ask is there until then (0: for good). */
static time_t end_beside(const struct ask *ask, int node, int i, time_t until)
{
	const struct occupancy_job *job = occupancy_at(tracker_map(), node, i, NULL);
	const job_record_t *job_ptr = find_job_record(job->id);
	const struct partner *p = tracker_partner(job), *others[LANES_MAX + 1];
	int count;

	if (!p || !job_ptr || !job_ptr->end_time)
		return 0;
	count = beside(node, i, others);
	others[count++] = &ask->me;
	return expected_end(ask->now, recorded_end(ask, job_ptr),
		partner_degradation(p, others, count, 0, ask->pairs), until,
		latest_end(job_ptr, job_ptr->start_time));
}

/* When the job of the ask, whose limit ends then, is expected to end if it starts there now. */
static time_t own_end(const struct ask *ask, int node, time_t limit)
{
	const struct partner *others[LANES_MAX];
	int count = beside(node, -1, others);
	time_t until = 0;

	for (int i = 0; i < occupancy_count(tracker_map(), node); i++)
		until = MAX(until, end_beside(ask, node, i, 0));
	return expected_end(ask->now, limit,
		partner_degradation(&ask->me, others, count, 0, ask->pairs), until,
		latest_end(ask->job_ptr, ask->now));
}

static bool is_planned(int node)
{
	return node < plans.nodes && plans.first[node] != NO_PLAN;
}

/* Whether some job is planned to have a node of this one. */
static bool any_planned(const struct occupancy_job *job)
{
	bool found = false;

	for (int k = 0; !found && k < job->count; k++)
		found = is_planned(job->node[k]);
	return found;
}

/* Whether the node or another one of its jobs has a plan at all: mostly none does, and the rest
 * takes time on thousands of nodes. */
static bool concerns(int node, struct ends_check *check)
{
	const struct occupancy *map = tracker_map();
	bool found = is_planned(node);

	for (int i = 0; i < occupancy_count(map, node); i++) {
		const struct occupancy_job *job = occupancy_at(map, node, i, NULL);

		/* A wide partner is mostly the one of the node before. */
		if (job->id != check->planned_partner) {
			check->planned_partner = job->id;
			check->planned_found = any_planned(job);
		}
		found |= check->planned_found;
	}
	return found;
}

/* Whether a partner puts off somebody on any of its nodes, if the job of the ask comes to one of
 * them until then. */
static bool partner_puts_off(
	const struct ask *ask, int node, int i, time_t until, struct planned *first)
{
	const struct occupancy_job *job = occupancy_at(tracker_map(), node, i, NULL);
	time_t before = ends_of(ask, node, i), after = end_beside(ask, node, i, until);
	bool found = false;

	for (int k = 0; after > before && k < job->count; k++)
		found |= puts_off(ask, job->node[k], before, after, first);
	return found;
}

void ends_begin(const struct ask *ask, struct ends_check *check)
{
	*check = (struct ends_check){.job_end = end_if_started(ask)};
	check->on = counts_progress(ask) && job_list;
	if (check->on)
		find_plans(ask->now);
}

bool ends_put_off(const struct ask *ask, int node, struct ends_check *check, struct planned *first)
{
	const struct occupancy *map = tracker_map();
	bool found = false;
	time_t end;

	if (!check->on || !plans.count || !concerns(node, check))
		return false;
	end = check->job_end ? own_end(ask, node, check->job_end) : 0;
	if (end)
		found = puts_off(ask, node, check->job_end, end, first);
	for (int i = 0; i < occupancy_count(map, node); i++) {
		uint32_t id = occupancy_at(map, node, i, NULL)->id;

		if (id != check->partner) {
			check->partner = id;
			check->partner_found = partner_puts_off(ask, node, i, end, first);
		}
		found |= check->partner_found;
	}
	return found;
}
