/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places co-located jobs by asking Slurm's own plugin about well-chosen sets of nodes. */
#include "plugins/select_stripe/place.h"

#include <string.h>

#include "plugins/select_stripe/ask_cons_tres.h"
#include "plugins/select_stripe/stripe.h"
#include "plugins/select_stripe/tracker.h"
#include "striping/lanes/lanes.h"

/* How many groups of nodes Slurm's plugin is asked about, one by one. */
#define GROUPS_TRIED 8
/* How many empty nodes it is offered beyond four times what the job needs. */
#define SPARE_EMPTY 16
/* How many moments in the future it is asked about. A job that names a node needs more of them. */
#define STARTS_TRIED 3
#define STARTS_MAX 32

/*
 * Asks for the first `count` nodes, which end with a group. Of that one Slurm may choose; the
 * groups before it are better, and Slurm would leave them out for the sake of nodes in a row.
 * Where the job cannot have them all, Slurm chooses.
 */
static int ask_groups(struct ask *ask, const struct candidates *list, uint32_t count, uint32_t want,
	bool now_only, bool preempt)
{
	uint32_t better = count - 1;

	while (better && list->c[better - 1].group == list->c[count - 1].group)
		better--;
	if (better && better < want &&
		ask_cons_tres_lanes(ask, list, (int)count, (int)better, now_only, preempt) ==
			SLURM_SUCCESS)
		return SLURM_SUCCESS;
	return ask_cons_tres_lanes(ask, list, (int)count, 0, now_only, preempt);
}

/*
 * Asks for nodes with partners, the best groups first. Each question costs Slurm's plugin work, so
 * the number of questions grows with the logarithm of the number of nodes.
 */
static int ask_shared(
	struct ask *ask, const struct candidates *list, uint32_t need, bool now_only, bool preempt)
{
	const uint32_t want = candidates_wanted(ask, need);
	uint32_t shared = list->shared, count = MIN(want, shared);

	while (count >= need && count) {
		/* Takes whole groups, so that partners of equal size share the same nodes. */
		while (count < shared && list->c[count].group == list->c[count - 1].group)
			count++;
		if (ask_groups(ask, list, count, want, now_only, preempt) == SLURM_SUCCESS)
			return SLURM_SUCCESS;
		if (count == shared)
			break;
		count = MIN(count * 2, shared);
	}
	return SLURM_ERROR;
}

static bool holds_required(const struct ask *ask, const struct candidates *list)
{
	bitstr_t *required = ask->job_ptr->details->req_node_bitmap;
	int held = 0;

	for (int i = 0; required && i < list->count; i++)
		held += bit_test(required, list->c[i].node);
	return !required || held == bit_set_count(required);
}

/*
 * Asks for one group after the other, each with the empty nodes that it lacks: where stripe_match
 * counts, all nodes of a job have the same partners or none.
 */
static int ask_by_group(
	struct ask *ask, const struct candidates *list, uint32_t need, bool now_only, bool preempt)
{
	int empty = list->count - list->shared, rc = SLURM_ERROR, tries = 0;
	uint32_t want = candidates_wanted(ask, need);
	struct candidates some = {.c = xcalloc(list->count + 1, sizeof(*some.c))};

	for (int i = 0, size; i < list->shared && rc != SLURM_SUCCESS; i += size) {
		bool lacks;

		size = node_choice_group(list->c, list->shared, i);
		lacks = (uint32_t)size < want;
		if (!node_choice_serves(
			    ask->settings, size, list->c[i].named, empty, (int)need, (int)want))
			continue;
		memcpy(some.c, list->c + i, size * sizeof(*some.c));
		memcpy(some.c + size, list->c + list->shared, empty * sizeof(*some.c));
		some.shared = size;
		some.count = lacks ? size + empty : size;
		if (!holds_required(ask, &some))
			continue;
		if (tries++ == GROUPS_TRIED)
			break;
		rc = ask_cons_tres_lanes(
			ask, &some, some.count, lacks ? size : 0, now_only, preempt);
	}
	xfree(some.c);
	return rc;
}

/* Asks for empty nodes, besides the first `require` of those with partners. */
static int ask_empty(struct ask *ask, const struct candidates *list, uint32_t need, int require,
	bool now_only, bool preempt)
{
	int few = list->shared + 4 * (int)candidates_wanted(ask, need) + SPARE_EMPTY;

	/* Slurm's plugin looks at each node, so it is offered a few of many that are alike. */
	if (list->alike && few < list->count &&
		ask_cons_tres_lanes(ask, list, few, require, now_only, preempt) == SLURM_SUCCESS)
		return SLURM_SUCCESS;
	return ask_cons_tres_lanes(ask, list, list->count, require, now_only, preempt);
}

/*
 * Asks in the order of preference: only nodes with partners; all of these and the empty ones that
 * are still needed; whatever fits.
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
		return list->partner_only || (uint32_t)empty.count < need
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
	return list->partner_only ? SLURM_ERROR : ask_empty(ask, list, need, 0, now_only, preempt);
}

/*
 * Where the good nodes and the empty ones are not enough. If they are too few, the job gets all of
 * them and the best of those that are worse than an empty node. Slurm may want others; so it is
 * asked at last as if none were worse: for all that have partners, then for the empty ones.
 */
static int ask_worse(
	struct ask *ask, struct candidates *list, uint32_t need, bool now_only, bool preempt)
{
	uint32_t want = candidates_wanted(ask, need), first = list->count,
		 all = first + list->worse;
	bool few = ask->size <= 1 && first < want && first <= ask->max_nodes;
	struct candidates some = *list;
	int rc;

	some.count = (int)all;
	some.worse = 0;
	if (all < need)
		return SLURM_ERROR;
	for (uint32_t count = want; few && count <= all;
		count = count < all ? MIN(count * 2, all) : all + 1)
		if (ask_cons_tres_lanes(ask, &some, (int)count, (int)first, now_only, preempt) ==
			SLURM_SUCCESS)
			return SLURM_SUCCESS;
	some.c = xcalloc(all, sizeof(*some.c));
	some.shared += list->worse;
	memcpy(some.c, list->c, list->shared * sizeof(*some.c));
	memcpy(some.c + list->shared, list->c + first, list->worse * sizeof(*some.c));
	memcpy(some.c + some.shared, list->c + list->shared,
		(first - list->shared) * sizeof(*some.c));
	rc = ask_in_order(ask, &some, need, now_only, preempt);
	xfree(some.c);
	return rc;
}

static int ask_for_any(
	struct ask *ask, struct candidates *list, uint32_t need, bool now_only, bool preempt)
{
	int rc = ask_in_order(ask, list, need, now_only, preempt);

	return rc != SLURM_SUCCESS && list->worse ? ask_worse(ask, list, need, now_only, preempt)
						  : rc;
}

/* Whether a job has lanes of the other shape there, which overlap: one that is to be preempted
 * before this one starts. */
static bool has_others(bitoff_t node, enum stripe_shape shape)
{
	return LANES_HAVE(occupancy_taken(tracker_map(), (int)node), !shape);
}

/* Gives the job all cores of each lane of which it has one. */
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
		enum stripe_shape shape = SHAPE_STRIPE;
		const struct layout *layout;
		const struct lane_set *set;
		uint32_t lanes;

		if (!bit_test(res->node_bitmap, i))
			continue;
		if (ask->on_sockets && bit_test(ask->on_sockets, i))
			shape = SHAPE_SOCKET;
		layout = layout_of(i);
		set = &layout->of[shape];
		lanes = tracker_lanes_of(job_ptr, n, i, first, shape);
		cpus = layout->lane_cores * layout->threads;
		if (LANES_HAVE(lanes, shape) && !has_others(i, shape) && !(lanes & (lanes - 1)) &&
			res->cpus[n] < cpus && (uint32_t)cpus <= limit) {
			for (int c = 0; c < layout->cores; c++)
				if (set->lane_of[c] != LANE_NONE &&
					lanes & LANE_BIT(shape, set->lane_of[c]))
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

/* Until when the job waits because of what the lanes lack that are enough for it; 0 = it does not.
 * Who does not wait at all does not wait for that. */
static time_t hopes_until(const struct ask *ask, const struct candidates *list, uint32_t need)
{
	time_t until;

	if (!ask->patient_until || !(list->lack > 0) ||
		(uint32_t)(list->count + list->worse) < need)
		return 0;
	until = node_choice_patience(ask->settings, &ask->stay, ask->now, list->lack);
	return ask->now < until ? until : 0;
}

/* What it costs that the job has been placed on these nodes. */
static struct exploratory_start start_made(const struct ask *ask, const struct candidates *list)
{
	for (int i = 0; list->exploratory.lanes > 0 && i < list->count + list->worse; i++)
		if (list->c[i].explores && bit_test(ask->nodes, list->c[i].node))
			return list->exploratory;
	return (struct exploratory_start){0, 0};
}

/* Asks for the nodes of an exploratory start alone: where Slurm refuses them, the job is to be
 * placed as if there were no exploratory starts. */
static int place_to_explore(
	struct ask *ask, const struct candidates *list, uint32_t need, bool now_only)
{
	struct candidates front = *list;
	int rc;

	front.count = 0;
	for (int i = 0; i < list->count; i++)
		if (list->c[i].explores)
			front.count = i + 1;
	if (!front.count)
		return SLURM_ERROR;
	front.count = MIN(MAX(front.count, (int)need), list->count);
	front.shared = MIN(front.shared, front.count);
	front.worse = front.left_out = 0;
	rc = ask_for_any(ask, &front, need, now_only, false);
	if (rc == SLURM_SUCCESS)
		ask->exploratory = start_made(ask, list);
	return rc;
}

/*
 * Nodes where sharing certainly loses come after all others, and only when the job has waited for
 * these long enough. Where all lanes together bring little, it waits the longer the less they
 * bring.
 */
static int place_in_order(struct ask *ask, bool now_only, bool preempt)
{
	bool patient = ask->now < ask->patient_until, losing;
	uint32_t need;
	struct candidates list =
		candidates_now(ask, preempt, !ask->settings->stripe_wait_ns, &need);
	int rc = SLURM_ERROR;

	if (list.exploratory.lanes > 0) {
		rc = place_to_explore(ask, &list, need, now_only);
		ask->tries = false;
		if (rc != SLURM_SUCCESS) {
			candidates_free(&list);
			list = candidates_now(ask, preempt, !ask->settings->stripe_wait_ns, &need);
		}
	}
	if (rc == SLURM_SUCCESS) {
		candidates_free(&list);
		return rc;
	}
	ask->found |= list.count + list.worse + list.left_out > 0;
	ask->waits_until = hopes_until(ask, &list, need);
	ask->hopes = ask->waits_until;
	if (!ask->hopes)
		rc = ask_for_any(ask, &list, need, now_only, preempt);
	losing = rc != SLURM_SUCCESS && !ask->hopes && list.left_out && list.enough;
	if (losing && patient)
		ask->waits_until = ask->patient_until;
	if (rc != SLURM_SUCCESS && list.behind.job_id)
		ask->behind = list.behind;
	candidates_free(&list);
	if (losing && !patient) {
		list = candidates_now(ask, preempt, true, &need);
		rc = ask_for_any(ask, &list, need, now_only, preempt);
		candidates_free(&list);
	}
	return rc;
}

/* preempt: as if all preemptable jobs were gone. Nodes where the job would be on probation come
 * last of all. */
static int place_now(struct ask *ask, bool now_only, bool preempt)
{
	int rc;

	ask->probation = false;
	/* Nobody is preempted for an exploratory start. */
	ask->tries = ask->drawn && !preempt;
	rc = place_in_order(ask, now_only, preempt);
	if (rc != SLURM_SUCCESS && !ask->hopes && ask->me.may_leave) {
		ask->probation = true;
		rc = place_in_order(ask, now_only, preempt);
	}
	if (rc == SLURM_SUCCESS)
		ask->behind.job_id = 0;
	ask->tries = false;
	if (rc == SLURM_SUCCESS && preempt)
		ask_cons_tres_preempt_rest(ask, true);
	return rc;
}

/* Asks for `want` of the first `count`, all of which are free by the moment at which the last one
 * is: for those that become free last, as the others then serve other jobs until that moment. */
static int ask_latest(struct ask *ask, const struct candidates *list, int count, int want)
{
	struct candidates late = *list;
	int rc = SLURM_ERROR;

	late.c = xcalloc(list->count + 1, sizeof(*late.c));
	memcpy(late.c, list->c, list->count * sizeof(*late.c));
	if (!node_choice_latest(late.c, count))
		rc = ask_cons_tres_lanes(ask, &late, want, want, false, true);
	xfree(late.c);
	return rc;
}

/*
 * When a job can start on ask->nodes, which Slurm has just granted. That is when the last of the
 * lanes is free: Slurm takes jobs that end within half a minute, and further on within minutes, as
 * if they ended together, and so says a later time. Its time counts where the job waits for
 * something that may be no lane.
 */
static time_t start_on(const struct ask *ask, const struct candidates *list)
{
	const job_record_t *job_ptr = ask->job_ptr;
	time_t latest = candidates_latest(list, ask->nodes);

	return latest > ask->now && !job_ptr->gres_list_req ? latest
							    : MAX(job_ptr->start_time, latest);
}

/*
 * Finds the earliest moment at which enough lanes that suit are free, and asks Slurm from there.
 * Where Slurm says that the job waits for something other than lanes, nodes that become free in the
 * meantime may let it start sooner.
 */
static int place_on_lanes(struct ask *ask)
{
	uint32_t need;
	struct candidates list = candidates_later(ask, &need);
	const int want = (int)candidates_wanted(ask, need);
	bitstr_t *best = NULL;
	bool first = true;
	time_t start = 0;

	for (int count = need; count <= list.count; first = false) {
		bool again = best;
		int rc = SLURM_ERROR;

		while (count < list.count && list.c[count].when == list.c[count - 1].when)
			count++;
		if (first && want < count)
			rc = ask_latest(ask, &list, count, want);
		if (rc != SLURM_SUCCESS)
			rc = ask_cons_tres_lanes(ask, &list, count, 0, false, true);
		if (rc == SLURM_SUCCESS) {
			time_t when = start_on(ask, &list);

			if (!best || when < start) {
				FREE_NULL_BITMAP(best);
				best = bit_copy(ask->nodes);
				start = when;
			}
		}
		/* Each question costs Slurm a simulation. */
		if (again || count == list.count || (best && ask->preemptable))
			break;
		if (!best)
			count = MIN(count * 2, list.count);
		else if (list.c[count].when < start)
			while (count < list.count && list.c[count].when < start)
				count++;
		else
			break;
	}
	if (best) {
		bit_clear_all(ask->nodes);
		bit_or(ask->nodes, best);
		ask->job_ptr->start_time = start;
	}
	candidates_free(&list);
	FREE_NULL_BITMAP(best);
	return start ? SLURM_SUCCESS : SLURM_ERROR;
}

/* As place_on_lanes(), where stripe_match says which sets of nodes a job may have together. */
static int place_in_groups(struct ask *ask)
{
	bool names = ask->job_ptr->details->req_node_bitmap;
	time_t start[STARTS_MAX];
	int starts = candidates_starts(ask, start, names ? STARTS_MAX : STARTS_TRIED);
	int rc = SLURM_ERROR;

	for (int i = 0; i < starts && rc != SLURM_SUCCESS; i++) {
		uint32_t need;
		struct candidates list = candidates_at(ask, start[i], &need);

		rc = ask_for_any(ask, &list, need, false, true);
		if (rc == SLURM_SUCCESS)
			ask->job_ptr->start_time = MAX(ask->job_ptr->start_time, start[i]);
		candidates_free(&list);
	}
	return rc;
}

static int place_later(struct ask *ask)
{
	int rc = ask->size > 1 ? place_in_groups(ask) : place_on_lanes(ask);

	/* The lanes are free now, but it does not come before the one that it would put off. */
	if (rc == SLURM_SUCCESS && ask->behind.job_id)
		ask->job_ptr->start_time = MAX(ask->job_ptr->start_time, ask->behind.start);
	if (rc == SLURM_SUCCESS && ask->hopes)
		ask->job_ptr->start_time = MAX(ask->job_ptr->start_time, ask->waits_until);
	if (rc == SLURM_SUCCESS && ask->preemptable)
		ask_cons_tres_preempt_rest(ask, true);
	return rc;
}

/*
 * Whether the job can ever run. Slurm's plugin tests against whole nodes here, so this leaves out
 * nodes whose lanes are too small, and raises the number of nodes to what lanes can hold.
 */
static int place_ever(struct ask *ask)
{
	bitstr_t *nodes = bit_copy(ask->nodes);
	uint32_t most = 0, cpus, least;
	int rc = SLURM_ERROR;

	for (bitoff_t n = bit_ffs(nodes); n >= 0 && n < bit_size(nodes); n++) {
		if (!bit_test(nodes, n))
			continue;
		cpus = candidates_lane_cpus(ask, (int)n);
		/* A reservation of single cores may leave the job no whole lane of the node. */
		if (ask->job_ptr->resv_ptr && !candidates_lane_left(ask, n))
			cpus = 0;
		if (!cpus)
			bit_clear(nodes, n);
		most = MAX(most, cpus);
	}
	least = candidates_nodes_needed(ask, most);
	if (most && least <= ask->max_nodes && (int64_t)least <= bit_set_count(nodes))
		rc = ask_cons_tres_nodes(ask, nodes, least);
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
		rc = place_now(ask, true, false);
		return rc == SLURM_SUCCESS || now_only ? rc : place_later(ask);
	}
	rc = place_now(ask, false, false);
	if (rc != SLURM_SUCCESS && ask->preemptable)
		rc = place_now(ask, false, true);
	if (rc == SLURM_SUCCESS)
		take_whole_lanes(ask);
	return rc;
}
