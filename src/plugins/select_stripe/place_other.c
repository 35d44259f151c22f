/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places jobs that did not opt in, while there are co-located ones. */
#include "plugins/select_stripe/place.h"

#include "plugins/select_stripe/ask_cons_tres.h"
#include "plugins/select_stripe/tracker.h"

SLURM_WEAK(node_record_table_ptr)

/* How many questions one start may take about nodes of co-located jobs: each costs Slurm a
 * simulation. */
#define QUESTIONS 4

/* The nodes of the ask without those that co-located jobs have. */
static bitstr_t *vacant_nodes(const struct ask *ask)
{
	bitstr_t *nodes = bit_copy(ask->nodes);

	bit_and_not(nodes, tracker_nodes());
	return nodes;
}

static int other_now(struct ask *ask)
{
	bitstr_t *nodes = vacant_nodes(ask);
	struct candidates list;
	int rc = ask_cons_tres_nodes(ask, nodes, 0);

	if (rc != SLURM_SUCCESS && ask->preemptable) {
		FREE_NULL_BITMAP(nodes);
		nodes = vacant_nodes(ask);
		list = candidates_vacated(ask, false);
		for (int i = 0; i < list.count && !list.c[i].when; i++)
			bit_set(nodes, list.c[i].node);
		candidates_free(&list);
		rc = ask_cons_tres_nodes(ask, nodes, 0);
	}
	if (rc == SLURM_SUCCESS) {
		bit_clear_all(ask->nodes);
		bit_or(ask->nodes, nodes);
		ask_cons_tres_preempt_rest(ask, false);
	}
	FREE_NULL_BITMAP(nodes);
	return rc;
}

/* How many nodes of co-located jobs the job needs at least, if all other nodes were free. */
static int fewest(const struct ask *ask, int64_t others)
{
	uint32_t most = 1, need;

	for (bitoff_t n = bit_ffs(ask->nodes); n >= 0 && n < bit_size(ask->nodes); n++)
		if (bit_test(ask->nodes, n))
			most = MAX(most, compat_node(n)->cpus);
	need = (ask->job_ptr->details->min_cpus + most - 1) / most;
	return (int)MAX(1, (int64_t)MAX(need, ask->min_nodes) - others);
}

/*
 * Whether the job could start before *start (0: it cannot start otherwise) with nodes that
 * co-located jobs leave by then. The nodes that they leave first are tried first.
 */
static bool starts_sooner(struct ask *ask, bitstr_t *vacant, bitstr_t **best, time_t *start)
{
	struct candidates list = candidates_vacated(ask, false);
	int asked = 0, before = 0, count = fewest(ask, bit_set_count(vacant));
	bool sooner = false;

	while (count <= list.count && (!*start || list.c[before].when < *start)) {
		bitstr_t *nodes = bit_copy(vacant);
		time_t when = 0;

		while (count < list.count && list.c[count].when == list.c[count - 1].when)
			count++;
		while (*start && list.c[count - 1].when >= *start)
			count--;
		for (int i = 0; i < count; i++)
			bit_set(nodes, list.c[i].node);
		/* Slurm's plugin sees free lanes of nodes that are not left yet. */
		if (ask_cons_tres_nodes(ask, nodes, 0) == SLURM_SUCCESS)
			when = MAX(ask->job_ptr->start_time, candidates_latest(&list, nodes));
		if (when && (!*start || when < *start)) {
			sooner = true;
			*start = when;
			FREE_NULL_BITMAP(*best);
			*best = bit_copy(nodes);
		}
		FREE_NULL_BITMAP(nodes);
		if (++asked == QUESTIONS || count == list.count)
			break;
		before = count;
		count = asked == QUESTIONS - 1 ? list.count : MIN(count * 2, list.count);
	}
	candidates_free(&list);
	return sooner;
}

static bool wants_whole_nodes(const job_record_t *job_ptr)
{
	return job_ptr->details->whole_node == WHOLE_NODE_REQUIRED ||
	       (job_ptr->part_ptr && !job_ptr->part_ptr->max_share);
}

/*
 * For a job that has nodes for itself it is known when each is free, so the earliest moment at
 * which enough are follows without trying. It gets those that become free last
 * (node_choice_latest()). Sets *best and *start where that is not after *start (0: it cannot start
 * otherwise).
 */
static bool starts_on_whole(struct ask *ask, bitstr_t **best, time_t *start)
{
	struct candidates list = candidates_vacated(ask, true);
	int need = fewest(ask, 0), count = need;
	bitstr_t *nodes = bit_alloc(bit_size(ask->nodes));
	time_t when = 0;

	while (count < list.count && list.c[count].when == list.c[count - 1].when)
		count++;
	if (count <= list.count && !node_choice_latest(list.c, count)) {
		for (int i = 0; i < need; i++)
			bit_set(nodes, list.c[i].node);
		/* All that the nodes have is free then, and Slurm's own time is less exact. */
		if (ask_cons_tres_nodes(ask, nodes, 0) == SLURM_SUCCESS)
			when = candidates_latest(&list, nodes);
		if (when <= ask->now)
			when = 0;
	}
	candidates_free(&list);
	if (!when || (*start && when > *start)) {
		FREE_NULL_BITMAP(nodes);
		return false;
	}
	FREE_NULL_BITMAP(*best);
	*best = nodes;
	*start = when;
	return true;
}

/*
 * Tries nodes without co-located jobs first. Where the job could not start there at once, tries
 * also nodes that co-located jobs leave in time; the earlier start counts.
 */
static int other_later(struct ask *ask)
{
	job_record_t *job_ptr = ask->job_ptr;
	bitstr_t *vacant = vacant_nodes(ask), *best = bit_copy(vacant);
	time_t start = 0;
	int rc = ask_cons_tres_nodes(ask, best, 0);

	if (rc == SLURM_SUCCESS)
		start = job_ptr->start_time;
	if ((rc != SLURM_SUCCESS || start > ask->now) &&
		(!(job_ptr->bit_flags & TEST_NOW_ONLY) || ask->preemptable) &&
		((wants_whole_nodes(job_ptr) && !ask->preemptable &&
			 starts_on_whole(ask, &best, &start)) ||
			starts_sooner(ask, vacant, &best, &start)))
		rc = SLURM_SUCCESS;
	if (rc == SLURM_SUCCESS) {
		job_ptr->start_time = start;
		bit_clear_all(ask->nodes);
		bit_or(ask->nodes, best);
		if (ask->preemptable)
			ask_cons_tres_preempt_rest(ask, false);
	}
	FREE_NULL_BITMAP(best);
	FREE_NULL_BITMAP(vacant);
	return rc;
}

int place_other(struct ask *ask)
{
	if (SELECT_IS_MODE_TEST_ONLY(ask->mode))
		return ask_cons_tres_nodes(ask, ask->nodes, 0);
	return SELECT_IS_MODE_WILL_RUN(ask->mode) ? other_later(ask) : other_now(ask);
}
