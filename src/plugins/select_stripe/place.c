/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places jobs by asking Slurm's own plugin about well-chosen sets of nodes. */
#include "plugins/select_stripe/place.h"

#include <string.h>

#include "plugins/select_stripe/inner.h"
#include "plugins/select_stripe/stripe.h"
#include "plugins/select_stripe/tracker.h"
#include "striping/lanes.h"

SLURM_WEAK(node_record_table_ptr)
SLURM_WEAK(node_record_count)

/* Groups of nodes that are asked about one by one. */
#define GROUPS_TRIED 8
/* Empty nodes that are offered beyond four times what the job needs. */
#define SPARE_EMPTY 16

/* What Slurm's plugin may change in a job record although it did not place the job. */
struct saved {
	uint64_t pn_min_memory;
	uint32_t min_cpus;
	uint8_t whole_node;
	uint64_t bit_flags;
	bitstr_t *req_node_bitmap;
	bool had_list;
};

static void save(const struct ask *ask, struct saved *s)
{
	const job_details_t *details = ask->job_ptr->details;

	s->pn_min_memory = details->pn_min_memory;
	s->min_cpus = details->min_cpus;
	s->whole_node = details->whole_node;
	s->bit_flags = ask->job_ptr->bit_flags;
	s->req_node_bitmap = details->req_node_bitmap;
	s->had_list = ask->preempted && *ask->preempted;
}

static void restore(const struct ask *ask, const struct saved *s, int rc)
{
	job_details_t *details = ask->job_ptr->details;

	details->whole_node = s->whole_node;
	details->req_node_bitmap = s->req_node_bitmap;
	if (!(s->bit_flags & TEST_NOW_ONLY))
		ask->job_ptr->bit_flags &= ~(uint64_t)TEST_NOW_ONLY;
	if (rc == SLURM_SUCCESS)
		return;
	details->pn_min_memory = s->pn_min_memory;
	details->min_cpus = s->min_cpus;
	if (ask->preempted && *ask->preempted && !s->had_list)
		FREE_NULL_LIST(*ask->preempted);
}

static bool has_required(const struct ask *ask, bitstr_t *nodes)
{
	bitstr_t *required = ask->job_ptr->details->req_node_bitmap;

	return !required || bit_super_set(required, nodes);
}

/* All cores of the node but those of the lane. */
static void exclude_others(compat_exc_t exc, const struct candidate *c, const struct layout *layout)
{
	for (int core = 0; core < layout->cores; core++)
		if (layout->lane_of[core] != c->lane)
			compat_exc_core(exc, c->node, core);
}

/*
 * Asks for the job on the first `count` of the list, plus the nodes that it requires; `require` of
 * them (from the first on) must all be taken. On success the chosen nodes are in ask->nodes.
 */
static int ask_inner(struct ask *ask, const struct candidates *list, int count, int require,
	bool now_only, bool preempt)
{
	bitstr_t *required = ask->job_ptr->details->req_node_bitmap, *must = NULL;
	bitstr_t *nodes = bit_alloc(bit_size(ask->nodes));
	compat_exc_t exc = compat_exc_copy(ask->exc);
	struct saved saved;
	int rc = SLURM_ERROR;

	for (int i = 0; i < list->count; i++) {
		const struct candidate *c = &list->c[i];

		if (i >= count && !(required && bit_test(required, c->node)))
			continue;
		bit_set(nodes, c->node);
		exclude_others(exc, c, layout_of(c->node));
	}
	if (!has_required(ask, nodes))
		goto out;
	save(ask, &saved);
	if (require) {
		must = required ? bit_copy(required) : bit_alloc(bit_size(nodes));
		for (int i = 0; i < require; i++)
			bit_set(must, list->c[i].node);
		ask->job_ptr->details->req_node_bitmap = must;
	}
	/* A lane is what a co-located job has of a node, also where it was to have it alone. */
	ask->job_ptr->details->whole_node = 0;
	if (now_only)
		ask->job_ptr->bit_flags |= TEST_NOW_ONLY;
	rc = inner.job_test(ask->job_ptr, nodes, ask->min_nodes, ask->max_nodes, ask->req_nodes,
		ask->mode, preempt ? ask->preemptable : NULL, ask->preempted,
		exc COMPAT_WILL_RUN_ARG(ask->will_run));
	restore(ask, &saved, rc);
	if (rc == SLURM_SUCCESS) {
		bit_clear_all(ask->nodes);
		bit_or(ask->nodes, nodes);
	}
out:
	FREE_NULL_BITMAP(must);
	FREE_NULL_BITMAP(nodes);
	compat_exc_free(exc);
	return rc;
}

/*
 * Nodes with partners, the best groups first. A question costs Slurm's plugin work, so their number
 * grows with the logarithm of the nodes'.
 */
static int ask_shared(
	struct ask *ask, const struct candidates *list, uint32_t need, bool now_only, bool preempt)
{
	uint32_t shared = list->shared, count = MIN(candidates_wanted(ask, need), shared);

	while (count >= need && count) {
		/* Whole groups: partners of equal size are to share the same nodes. */
		while (count < shared && list->c[count].group == list->c[count - 1].group)
			count++;
		if (ask_inner(ask, list, count, 0, now_only, preempt) == SLURM_SUCCESS)
			return SLURM_SUCCESS;
		if (count == shared)
			break;
		count = MIN(count * 2, shared);
	}
	return SLURM_ERROR;
}

/*
 * One group after the other, each with as many empty nodes as it lacks: where stripe_match counts,
 * a job has partners on the same nodes or on none.
 */
static int ask_by_group(
	struct ask *ask, const struct candidates *list, uint32_t need, bool now_only, bool preempt)
{
	int empty = list->count - list->shared, rc = SLURM_ERROR, tries = 0;
	uint32_t want = candidates_wanted(ask, need);
	struct candidates some = {.c = xcalloc(list->count + 1, sizeof(*some.c))};

	for (int i = 0, size; i < list->shared && rc != SLURM_SUCCESS; i += size) {
		bool lacks;

		size = choice_group(list->c, list->shared, i);
		lacks = (uint32_t)size < want;
		if (lacks && (ask->settings->stripe_match == MATCH_EXACT ||
				     (uint32_t)(size + empty) < need))
			continue;
		if (tries++ == GROUPS_TRIED)
			break;
		memcpy(some.c, list->c + i, size * sizeof(*some.c));
		memcpy(some.c + size, list->c + list->shared, empty * sizeof(*some.c));
		some.shared = size;
		some.count = lacks ? size + empty : size;
		rc = ask_inner(ask, &some, some.count, lacks ? size : 0, now_only, preempt);
	}
	xfree(some.c);
	return rc;
}

/* Empty nodes, beside the first `require` of those with partners. */
static int ask_empty(struct ask *ask, const struct candidates *list, uint32_t need, int require,
	bool now_only, bool preempt)
{
	int few = list->shared + 4 * (int)candidates_wanted(ask, need) + SPARE_EMPTY;

	/* Slurm's plugin looks at each node: some are as good as all. */
	if (list->alike && few < list->count &&
		ask_inner(ask, list, few, require, now_only, preempt) == SLURM_SUCCESS)
		return SLURM_SUCCESS;
	return ask_inner(ask, list, list->count, require, now_only, preempt);
}

/*
 * The order of preference: nodes with partners alone; all of those and the empty ones that are
 * still needed; whatever fits.
 */
static int ask_in_order(
	struct ask *ask, const struct candidates *list, uint32_t need, bool now_only, bool preempt)
{
	uint32_t shared = list->shared, all = list->count, want = candidates_wanted(ask, need);

	if (all < need)
		return SLURM_ERROR;
	if (ask->size > 1) {
		struct candidates empty = {
			.c = list->c + shared, .count = (int)(all - shared), .alike = list->alike};

		if (ask_by_group(ask, list, need, now_only, preempt) == SLURM_SUCCESS)
			return SLURM_SUCCESS;
		return (uint32_t)empty.count < need
			       ? SLURM_ERROR
			       : ask_empty(ask, &empty, need, 0, now_only, preempt);
	}
	if (ask_shared(ask, list, need, now_only, preempt) == SLURM_SUCCESS)
		return SLURM_SUCCESS;
	if (shared == all)
		return SLURM_ERROR;
	if (shared && shared < want && shared <= ask->max_nodes &&
		ask_empty(ask, list, need, (int)shared, now_only, preempt) == SLURM_SUCCESS)
		return SLURM_SUCCESS;
	return ask_empty(ask, list, need, 0, now_only, preempt);
}

static int is_same(void *a, void *b)
{
	return a == b;
}

/* Jobs on the chosen nodes that could not stay beside this one are to be preempted too. */
static void preempt_the_rest(struct ask *ask, bool colocated)
{
	const struct occupancy *map = tracker_map();

	if (!ask->preempted)
		return;
	for (bitoff_t n = bit_ffs(ask->nodes); n >= 0 && n < bit_size(ask->nodes); n++) {
		if (!bit_test(ask->nodes, n) || n >= occupancy_nodes(map))
			continue;
		for (int i = 0; i < occupancy_count(map, n); i++) {
			const struct occupancy_job *job = occupancy_at(map, n, i, NULL);
			const struct partner *p = tracker_partner(job);
			job_record_t *job_ptr;

			if (colocated ? p && partner_compatible(&ask->me, &p, 1, ask->pairs)
				      : !job->colocated)
				continue;
			job_ptr = find_job_record(job->id);
			if (!job_ptr || !candidates_preemptable(ask, job->id))
				continue;
			if (!*ask->preempted)
				*ask->preempted = list_create(NULL);
			if (!list_find_first(*ask->preempted, is_same, job_ptr))
				list_append(*ask->preempted, job_ptr);
		}
	}
}

/* Gives the job every core of the lanes that it has a core of: the lane is the unit. */
static void take_whole_lanes(const struct ask *ask)
{
	job_record_t *job_ptr = ask->job_ptr;
	job_resources_t *res = job_ptr->job_resrcs;
	uint32_t limit = job_ptr->part_ptr ? job_ptr->part_ptr->max_cpus_per_node : INFINITE;
	int n = 0, first = 0, cpus;

	if (!res || !res->core_bitmap || !res->cpus)
		return;
	for (bitoff_t i = bit_ffs(res->node_bitmap); i >= 0 && i < bit_size(res->node_bitmap);
		i++) {
		const struct layout *layout;
		uint32_t lanes;

		if (!bit_test(res->node_bitmap, i))
			continue;
		layout = layout_of(i);
		lanes = tracker_lanes_of(job_ptr, n, i, first);
		cpus = layout->lane_cores * layout->threads;
		if (!(lanes & (lanes - 1)) && res->cpus[n] < cpus && (uint32_t)cpus <= limit) {
			for (int c = 0; c < layout->cores; c++)
				if (layout->lane_of[c] != LANE_NONE &&
					lanes & UINT32_C(1) << layout->lane_of[c])
					bit_set(res->core_bitmap, first + c);
			res->cpus[n] = cpus;
		}
		first += layout->cores;
		n++;
	}
	cpus = build_job_resources_cpu_array(res);
	if (cpus > 0) {
		job_ptr->total_cpus = cpus;
		res->ncpus = cpus;
	}
}

static int place_now(struct ask *ask, bool now_only)
{
	uint32_t need;
	struct candidates list = candidates_now(ask, false, &need);
	int rc = ask_in_order(ask, &list, need, now_only, false);

	candidates_free(&list);
	return rc;
}

static int place_by_preemption(struct ask *ask)
{
	uint32_t need;
	struct candidates list = candidates_now(ask, true, &need);
	int rc = ask_in_order(ask, &list, need, false, true);

	candidates_free(&list);
	if (rc == SLURM_SUCCESS)
		preempt_the_rest(ask, true);
	return rc;
}

/* When the last of the nodes is to be had that ask_inner() would ask about. */
static time_t latest(const struct ask *ask, const struct candidates *list, int count)
{
	bitstr_t *required = ask->job_ptr->details->req_node_bitmap;
	time_t when = 0;

	for (int i = 0; i < list->count; i++)
		if (i < count || (required && bit_test(required, list->c[i].node)))
			when = MAX(when, list->c[i].when);
	return when;
}

/* The earliest moment at which enough lanes that suit are free, and from there what Slurm says. */
static int place_later(struct ask *ask)
{
	uint32_t need;
	struct candidates list = candidates_later(ask, &need);
	int rc = SLURM_ERROR, count = need;

	while (rc != SLURM_SUCCESS && count <= list.count) {
		while (count < list.count && list.c[count].when == list.c[count - 1].when)
			count++;
		rc = ask_inner(ask, &list, count, 0, false, true);
		if (rc == SLURM_SUCCESS)
			ask->job_ptr->start_time =
				MAX(ask->job_ptr->start_time, latest(ask, &list, count));
		if (count == list.count)
			break;
		count = MIN(count * 2, list.count);
	}
	candidates_free(&list);
	if (rc == SLURM_SUCCESS && ask->preemptable)
		preempt_the_rest(ask, true);
	return rc;
}

/*
 * Whether it can ever run: Slurm's plugin tests against whole nodes here, so nodes whose lanes are
 * too small are left out and the number of nodes is raised to what lanes can hold.
 */
static int place_ever(struct ask *ask)
{
	bitstr_t *nodes = bit_copy(ask->nodes);
	uint32_t most = 0, cpus, least;
	struct saved saved;
	int rc = SLURM_ERROR;

	for (bitoff_t n = bit_ffs(nodes); n >= 0 && n < bit_size(nodes); n++) {
		if (!bit_test(nodes, n))
			continue;
		cpus = candidates_lane_cpus(ask, layout_of(n));
		if (!cpus)
			bit_clear(nodes, n);
		most = MAX(most, cpus);
	}
	least = candidates_nodes_needed(ask, most);
	if (most && has_required(ask, nodes) && least <= ask->max_nodes &&
		(int64_t)least <= bit_set_count(nodes)) {
		save(ask, &saved);
		ask->job_ptr->details->whole_node = 0;
		rc = inner.job_test(ask->job_ptr, nodes, MAX(least, ask->min_nodes), ask->max_nodes,
			MAX(least, ask->req_nodes), ask->mode, ask->preemptable, ask->preempted,
			ask->exc COMPAT_WILL_RUN_ARG(ask->will_run));
		restore(ask, &saved, rc);
	}
	if (rc == SLURM_SUCCESS) {
		bit_clear_all(ask->nodes);
		bit_or(ask->nodes, nodes);
	}
	FREE_NULL_BITMAP(nodes);
	return rc;
}

int place_colocated(struct ask *ask)
{
	bool now_only = ask->job_ptr->bit_flags & TEST_NOW_ONLY;
	int rc;

	if (SELECT_IS_MODE_TEST_ONLY(ask->mode))
		return place_ever(ask);
	if (SELECT_IS_MODE_WILL_RUN(ask->mode)) {
		rc = place_now(ask, true);
		return rc == SLURM_SUCCESS || now_only ? rc : place_later(ask);
	}
	rc = place_now(ask, false);
	if (rc != SLURM_SUCCESS && ask->preemptable)
		rc = place_by_preemption(ask);
	if (rc == SLURM_SUCCESS)
		take_whole_lanes(ask);
	return rc;
}

/* Slurm's own answer for these nodes; on success they are in ask->nodes. */
static int ask_plainly(struct ask *ask, bitstr_t *nodes)
{
	struct saved saved;
	int rc;

	if (!has_required(ask, nodes))
		return SLURM_ERROR;
	save(ask, &saved);
	rc = inner.job_test(ask->job_ptr, nodes, ask->min_nodes, ask->max_nodes, ask->req_nodes,
		ask->mode, ask->preemptable, ask->preempted,
		ask->exc COMPAT_WILL_RUN_ARG(ask->will_run));
	restore(ask, &saved, rc);
	return rc;
}

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
	int rc = ask_plainly(ask, nodes);

	if (rc != SLURM_SUCCESS && ask->preemptable) {
		FREE_NULL_BITMAP(nodes);
		nodes = vacant_nodes(ask);
		list = candidates_vacated(ask);
		for (int i = 0; i < list.count && !list.c[i].when; i++)
			bit_set(nodes, list.c[i].node);
		candidates_free(&list);
		rc = ask_plainly(ask, nodes);
	}
	if (rc == SLURM_SUCCESS) {
		bit_clear_all(ask->nodes);
		bit_or(ask->nodes, nodes);
		preempt_the_rest(ask, false);
	}
	FREE_NULL_BITMAP(nodes);
	return rc;
}

/*
 * First on nodes without co-located jobs; when that is not at once, also with nodes that co-located
 * jobs leave in time, and the earlier start counts.
 */
static int other_later(struct ask *ask)
{
	job_record_t *job_ptr = ask->job_ptr;
	bitstr_t *best = vacant_nodes(ask), *base = bit_copy(best), *nodes;
	int64_t vacant = bit_set_count(base);
	struct candidates list;
	time_t start = 0, now = time(NULL);
	int rc = ask_plainly(ask, best), count;

	if (rc == SLURM_SUCCESS)
		start = job_ptr->start_time;
	if ((rc == SLURM_SUCCESS && start <= now) ||
		(job_ptr->bit_flags & TEST_NOW_ONLY && !ask->preemptable))
		goto out;
	list = candidates_vacated(ask);
	count = MAX(1, (int64_t)ask->min_nodes - vacant);
	while (count <= list.count) {
		time_t when;

		while (count < list.count && list.c[count].when == list.c[count - 1].when)
			count++;
		when = list.c[count - 1].when;
		if (start && when >= start)
			break;
		nodes = bit_copy(base);
		for (int i = 0; i < count; i++)
			bit_set(nodes, list.c[i].node);
		if (ask_plainly(ask, nodes) == SLURM_SUCCESS &&
			(!start || MAX(job_ptr->start_time, when) < start)) {
			rc = SLURM_SUCCESS;
			start = MAX(job_ptr->start_time, when);
			FREE_NULL_BITMAP(best);
			best = nodes;
			break;
		}
		FREE_NULL_BITMAP(nodes);
		/* Each question costs Slurm a simulation: not more than two. */
		if (count == list.count)
			break;
		count = list.count;
	}
	candidates_free(&list);
	if (rc == SLURM_SUCCESS)
		job_ptr->start_time = start;
out:
	if (rc == SLURM_SUCCESS) {
		bit_clear_all(ask->nodes);
		bit_or(ask->nodes, best);
		if (ask->preemptable)
			preempt_the_rest(ask, false);
	}
	FREE_NULL_BITMAP(best);
	FREE_NULL_BITMAP(base);
	return rc;
}

int place_other(struct ask *ask)
{
	if (SELECT_IS_MODE_TEST_ONLY(ask->mode))
		return ask_plainly(ask, ask->nodes);
	return SELECT_IS_MODE_WILL_RUN(ask->mode) ? other_later(ask) : other_now(ask);
}
