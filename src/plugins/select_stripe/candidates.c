/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the nodes and lanes for a co-located job. */
#include "plugins/select_stripe/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/select_stripe/ends.h"
#include "plugins/select_stripe/exploratory_starts.h"
#include "plugins/select_stripe/paces.h"
#include "plugins/select_stripe/stripe.h"
#include "plugins/select_stripe/tracker.h"
#include "striping/lanes/lanes.h"

SLURM_WEAK(slurm_conf)
SLURM_WEAK(node_record_table_ptr)
SLURM_WEAK(avail_node_bitmap)

/* How many CPUs of a core this job can use: --hint=nomultithread and the like take some away. */
static uint32_t cpus_per_core(const job_details_t *details, uint32_t threads)
{
	const multi_core_data_t *mc = details->mc_ptr;
	uint32_t cpus = threads;

	if (mc && mc->ntasks_per_core && mc->ntasks_per_core != INFINITE16)
		cpus = MIN(cpus, (uint32_t)mc->ntasks_per_core * MAX(details->cpus_per_task, 1));
	if (mc && mc->threads_per_core != NO_VAL16)
		cpus = MIN(cpus, mc->threads_per_core);
	return cpus;
}

int candidates_memory_cpus(const job_record_t *job_ptr, const struct layout *layout)
{
	const multi_core_data_t *mc = job_ptr->details->mc_ptr;
	int threads = layout->threads;

	if (mc && mc->threads_per_core && mc->threads_per_core < threads)
		threads = mc->threads_per_core;
	return layout->lane_cores * threads;
}

/*
 * Whether the job's memory is no more than a lane's share of this node: submission_check() knows
 * that of some node of the partition. Memory by GPUs is checked there for all of them.
 */
static bool memory_in_share(const struct ask *ask, int node, const struct layout *layout)
{
	const node_record_t *n = compat_node(node);
	uint64_t want = ask->job_ptr->details->pn_min_memory;

	if (!(slurm_conf.select_type_param & SELECT_MEMORY) || ask->request.spread ||
		ask->job_ptr->mem_per_tres)
		return true;
	if (want & MEM_PER_CPU)
		want = (want & ~MEM_PER_CPU) * candidates_memory_cpus(ask->job_ptr, layout);
	return want <= (n->real_memory - n->mem_spec_limit) / layout->lanes;
}

/* Whether what the job says of sockets lets it have a lane of this shape there. */
static bool suits_shape(const struct ask *ask, const struct lane_set *set, enum stripe_shape shape)
{
	const job_details_t *details = ask->job_ptr->details;
	const multi_core_data_t *mc = details->mc_ptr;
	const int sockets = set->size.sockets;

	if (!set->size.cores || (ask->request.shaped && ask->request.shape != shape))
		return false;
	/* Only the lowest free lane is tried, and another one may have the devices. */
	if (shape == SHAPE_SOCKET && ask->job_ptr->bit_flags & GRES_ENFORCE_BIND)
		return false;
	if (!mc)
		return true;
	if (mc->cores_per_socket != NO_VAL16 && mc->cores_per_socket > set->size.socket_cores)
		return false;
	if (mc->sockets_per_node != NO_VAL16 && mc->sockets_per_node > sockets)
		return false;
	return !mc->ntasks_per_socket || mc->ntasks_per_socket >= INFINITE16 - 1 ||
	       !details->ntasks_per_node || details->overcommit ||
	       details->ntasks_per_node <= mc->ntasks_per_socket * sockets;
}

/* As candidates_lane_cpus(), of the node's lanes of one shape. */
static uint32_t lane_cpus(
	const struct ask *ask, int node, const struct layout *layout, enum stripe_shape shape)
{
	const job_details_t *details = ask->job_ptr->details;
	uint32_t per_task = MAX(details->cpus_per_task, 1), cpus, least;

	if (!suits_shape(ask, &layout->of[shape], shape))
		return 0;
	cpus = layout->lane_cores * cpus_per_core(details, layout->threads);
	least = MAX(details->pn_min_cpus, per_task);
	if (details->ntasks_per_node && !details->overcommit)
		least = MAX(least, details->ntasks_per_node * per_task);
	return cpus < least || !memory_in_share(ask, node, layout) ? 0 : cpus;
}

/* The shape that the job gets on a node without others. */
static enum stripe_shape shape_alone(const struct ask *ask, const struct layout *layout)
{
	return ask->request.shaped ? ask->request.shape : layout->usual;
}

uint32_t candidates_lane_cpus(const struct ask *ask, int node)
{
	const struct layout *layout = layout_of(node);
	enum stripe_shape now, alone;

	if (!layout)
		return 0;
	now = tracker_shape(node, layout);
	alone = shape_alone(ask, layout);
	return MAX(lane_cpus(ask, node, layout, alone),
		now == alone ? 0 : lane_cpus(ask, node, layout, now));
}

uint32_t candidates_nodes_needed(const struct ask *ask, uint32_t lane_cpus)
{
	const job_details_t *details = ask->job_ptr->details;
	uint32_t per_task = MAX(details->cpus_per_task, 1), need = MAX(ask->min_nodes, 1), fit;

	if (!lane_cpus || details->overcommit)
		return need;
	need = MAX(need, (details->min_cpus + lane_cpus - 1) / lane_cpus);
	fit = lane_cpus / per_task;
	if (details->ntasks_per_node)
		fit = MIN(fit, details->ntasks_per_node);
	if (fit && details->num_tasks && details->num_tasks != NO_VAL)
		need = MAX(need, (details->num_tasks + fit - 1) / fit);
	return need;
}

uint32_t candidates_wanted(const struct ask *ask, uint32_t need)
{
	return MAX(need, MIN(ask->req_nodes, ask->max_nodes));
}

uint32_t candidates_measure(struct ask *ask)
{
	const bool any = ask->settings->stripe_match == MATCH_ANY;
	uint32_t most = 0, wanted;

	/* Where only the size of its class depends on it, the first node that can take it tells. */
	for (bitoff_t n = bit_ffs(ask->nodes); n >= 0 && n < bit_size(ask->nodes) && !(any && most);
		n++)
		if (bit_test(ask->nodes, n))
			most = MAX(most, candidates_lane_cpus(ask, (int)n));
	wanted = candidates_wanted(ask, candidates_nodes_needed(ask, most));
	ask->size = any ? 0 : (int)wanted;
	return wanted;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort_preemptable(list_t *list, struct preemptable *p)
{
	list_itr_t *iter = list_iterator_create(list);
	job_record_t *job_ptr;

	p->id = xcalloc(list_count(list) + 1, sizeof(*p->id));
	p->listed = xcalloc(list_count(list) + 1, sizeof(*p->listed));
	while ((job_ptr = list_next(iter))) {
		uint16_t how = slurm_job_preempt_mode(job_ptr);

		if (how == PREEMPT_MODE_REQUEUE || how == PREEMPT_MODE_CANCEL)
			p->id[p->count++] = job_ptr->job_id;
	}
	list_iterator_destroy(iter);
	qsort(p->id, p->count, sizeof(*p->id), compare_ids);
}

int candidates_preemptable(const struct ask *ask, uint32_t job_id)
{
	struct preemptable *p = ask->by_id;
	const uint32_t *at;

	if (!ask->preemptable)
		return -1;
	if (!p->id)
		sort_preemptable(ask->preemptable, p);
	at = bsearch(&job_id, p->id, p->count, sizeof(*p->id), compare_ids);
	return at ? (int)(at - p->id) : -1;
}

void candidates_free_preemptable(struct preemptable *p)
{
	xfree(p->id);
	xfree(p->listed);
}

static bool may_share(const struct ask *ask, const struct partner *me,
	const struct partner *const *others, int count)
{
	return partner_compatible(me, others, count, ask->pairs) ||
	       (ask->probation && partner_on_probation(me, others, count, ask->pairs));
}

bool candidates_suit(const struct ask *ask, const struct partner *const *others, int count)
{
	return may_share(ask, &ask->me, others, count);
}

/* The lowest lane of the shape that is not taken and has no core excluded by the caller, or
 * LANE_NONE. */
static int free_lane(const struct ask *ask, int node, const struct layout *layout,
	enum stripe_shape shape, uint32_t taken)
{
	const struct lane_set *set = &layout->of[shape];

	if (!set->size.cores)
		return LANE_NONE;
	for (int c = 0; ask->exc && c < layout->cores; c++)
		if (set->lane_of[c] != LANE_NONE && compat_exc_has(ask->exc, node, c))
			taken |= LANE_BIT(shape, set->lane_of[c]);
	for (int lane = 0; lane < layout->lanes; lane++)
		if (!(taken & LANE_BIT(shape, lane)))
			return lane;
	return LANE_NONE;
}

bool candidates_lane_left(const struct ask *ask, int node)
{
	const struct layout *layout = layout_of(node);

	return layout && free_lane(ask, node, layout, shape_alone(ask, layout), 0) != LANE_NONE;
}

bool candidates_elsewhere(const struct ask *ask)
{
	const job_record_t *job_ptr = ask->job_ptr;
	bitstr_t *refused = job_ptr->details->exc_node_bitmap;
	int nodes = occupancy_nodes(tracker_map());

	if (job_ptr->part_ptr_list || !job_ptr->part_ptr || !job_ptr->part_ptr->node_bitmap)
		return true;
	for (int n = 0; n < nodes && n < bit_size(ask->nodes); n++) {
		enum occupancy_state state = occupancy_state(tracker_map(), n);

		if ((state == OCCUPANCY_EMPTY || state == OCCUPANCY_PARTIAL) &&
			!bit_test(ask->nodes, n) && bit_test(job_ptr->part_ptr->node_bitmap, n) &&
			bit_test(avail_node_bitmap, n) && !(refused && bit_test(refused, n)) &&
			candidates_lane_cpus(ask, n))
			return true;
	}
	return false;
}

/* Whether what the node's jobs leave of its memory can be enough. */
static bool memory_left(const struct ask *ask, int node)
{
	const node_record_t *n = compat_node(node);
	uint64_t want = ask->job_ptr->details->pn_min_memory, used, all;

	if (!(slurm_conf.select_type_param & SELECT_MEMORY))
		return true;
	used = occupancy_memory(tracker_map(), node);
	all = n->real_memory - n->mem_spec_limit;
	if (want & MEM_PER_CPU)
		want = (want & ~MEM_PER_CPU) * MAX(ask->job_ptr->details->pn_min_cpus, 1);
	else if (!want)
		want = all;
	return used + want <= all;
}

/*
 * Whether the job can be on this node beside those of its jobs that end after `when` (0: now) and
 * that are not preempted; fills in the rest of *c, and *cpus with how many it can use there. ends:
 * the end of each of the node's jobs, in the map's order; NULL: none ends.
 */
static bool fits(const struct ask *ask, const struct layout *layout, time_t when, bool preempt,
	const time_t *ends, struct candidate *c, uint32_t *cpus)
{
	const struct occupancy *map = tracker_map();
	const struct partner *others[LANES_MAX];
	struct partner me = ask->me;
	struct occupancy_place place;
	uint32_t taken = 0;
	int stay = 0, named = 0, told = 0;
	const struct lane_set *set;

	c->group = 0;
	c->partners = 0;
	for (int i = 0; i < occupancy_count(map, c->node); i++) {
		const struct occupancy_job *job = occupancy_at(map, c->node, i, &place);
		const struct partner *other = tracker_partner(job);

		if ((ends && ends[i] <= when) ||
			(preempt && candidates_preemptable(ask, job->id) >= 0))
			continue;
		if (!job->colocated || stay == LANES_MAX || !other)
			return false;
		if (partner_named(&me, other))
			named++;
		else if (ask->size && !node_choice_matches(ask->settings, ask->size, job->count))
			return false;
		if (i < 64) {
			c->partners |= UINT64_C(1) << i;
			told++;
		}
		others[stay++] = other;
		taken |= place.lanes;
		c->group += partner_group(job->id);
	}
	/* The jobs that stay have their lanes in one shape; where they do not, no lane is free. */
	c->shape = stay ? LANES_HAVE(taken, SHAPE_SOCKET) : shape_alone(ask, layout);
	set = &layout->of[c->shape];
	*cpus = lane_cpus(ask, c->node, layout, c->shape);
	if (!*cpus || LANES_HAVE(taken, !c->shape))
		return false;
	c->lanes = layout->lanes;
	c->mine = ask->outlook ? ask->mine[set->type] : 0;
	me.class_name = ask->class_name[set->type];
	c->lane = free_lane(ask, c->node, layout, c->shape, taken);
	if (c->lane == LANE_NONE || (stay && ask->request.spread) ||
		!may_share(ask, &me, others, stay))
		return false;
	if (told < stay)
		c->partners = 0;
	c->shared = stay;
	c->named = stay && named == stay;
	c->loss = partner_loss(&me, others, stay, ask->pairs);
	if (ask->settings->stripe_wait_ns)
		partner_certain(&me, others, stay, ask->pairs, &c->own, &c->rest);
	c->when = when;
	return true;
}

/* Whether the job waits rather than share at this time where that certainly loses. */
static bool is_patient(const struct ask *ask, time_t when)
{
	return MAX(when, ask->now) < ask->patient_until;
}

/* As fits(), at a time in the future; false also where the job waits for better. */
static bool suits(const struct ask *ask, const struct layout *layout, time_t when,
	const time_t *ends, struct candidate *c, uint32_t *cpus)
{
	return fits(ask, layout, when, false, ends, c, cpus) &&
	       !(node_choice_loses(c) && is_patient(ask, when));
}

/* Parts the candidates that the job had better not have together with the others from them; returns
 * how many are left. */
static int together(const struct ask *ask, struct candidates *list)
{
	int kept = list->count;

	if (list->shared && candidates_wanted(ask, candidates_nodes_needed(ask, list->cpus)) > 1)
		kept = node_choice_together(list->c, list->count);
	if (kept >= 0)
		return kept;
	error(STRIPE "no memory to compare the nodes for %pJ", ask->job_ptr);
	return list->count;
}

/* Leaves those out. */
static void leave_apart(const struct ask *ask, struct candidates *list)
{
	int kept = together(ask, list);

	/* What is apart has partners. */
	list->left_out += list->count - kept;
	list->shared -= list->count - kept;
	list->count = kept;
}

/* Moves the shared nodes to the front; the others keep their order, which is that of the nodes. */
static void gather_shared(struct candidates *list)
{
	struct candidate *others;
	int shared = 0, rest = 0;

	if (!list->shared)
		return;
	others = xcalloc(list->count, sizeof(*others));
	for (int i = 0; i < list->count; i++)
		if (list->c[i].shared)
			list->c[shared++] = list->c[i];
		else
			others[rest++] = list->c[i];
	memcpy(list->c + shared, others, rest * sizeof(*others));
	xfree(others);
}

/*
 * The end of the last running job that this one names by with:. 0 = none runs, so this one waits
 * for none. Jobs that could not share a node with it do not count.
 */
static time_t alone_from(const struct ask *ask)
{
	const struct occupancy *map = tracker_map();
	bitstr_t *nodes = tracker_nodes();
	uint32_t with = ask->request.with;
	time_t last = 0;

	if (!with)
		return 0;
	/* The number may be an array's id and also the id of one of its elements. */
	for (bitoff_t n = bit_ffs(nodes); n >= 0 && n < bit_size(nodes); n++)
		for (int i = 0; i < occupancy_count(map, n); i++) {
			const struct occupancy_job *job = occupancy_at(map, n, i, NULL);
			const struct partner *p = tracker_partner(job);

			if (p && (p->id == with || p->array_id == with) &&
				candidates_suit(ask, &p, 1))
				last = MAX(MAX(last, ends_of(ask, (int)n, i)), 1);
		}
	return last;
}

static struct candidates start_list(const struct ask *ask)
{
	struct candidates list = {.alike = true, .alone = alone_from(ask)};

	list.c = xcalloc(bit_set_count(ask->nodes) + 1, sizeof(*list.c));
	return list;
}

static void append(struct candidates *list, const struct candidate *c, uint32_t cpus)
{
	list->cpus = MAX(list->cpus, cpus);
	list->shared += c->shared;
	if (!c->shared) {
		const config_record_t *config = compat_node(c->node)->config_ptr;

		list->config = list->config ? list->config : config;
		list->alike = list->alike && list->config->weight == config->weight;
	}
	list->c[list->count++] = *c;
}

/* What is asked of each candidate. */
struct question {
	const struct ask *ask;
	struct paces paces;
};

/* For struct node_yield. */
static int partners_of(
	const struct candidate *c, void *arg, struct lane_partner partner[LANE_PARTNERS_MAX])
{
	struct question *q = arg;

	return paces_of(&q->paces, c->node, c->partners, partner);
}

static double overlap_of(const struct candidate *c, void *arg)
{
	return exploratory_starts_overlap_s(((const struct question *)arg)->ask, c);
}

/* How many partners all of them have together. */
static size_t partners_in_all(const struct candidates *list)
{
	size_t all = 0;

	for (int i = 0; i < list->shared; i++)
		all += (size_t)__builtin_popcountll(list->c[i].partners);
	return all;
}

/* Orders those with partners, and moves those to the end that are worse than an empty node. Whoever
 * names a partner wants that one, whatever it costs. 0, or -1 with ENOMEM. */
static int order_shared(const struct ask *ask, struct candidates *list, int wanted)
{
	struct question question = {.ask = ask};
	const struct node_exploration exploration = {.drawn = ask->drawn,
		.account = ask->account,
		.stay = ask->now < ask->patient_until ? &ask->stay : NULL,
		.now = ask->now,
		.overlap_s = overlap_of};
	struct node_yield yield = {.settings = ask->settings,
		.outlook = ask->outlook,
		.others_wait = ask->others_wait,
		.partners = partners_of,
		.arg = &question,
		.exploration = ask->tries ? &exploration : NULL};
	struct node_choice choice;
	int rc;

	if (!ask->outlook || outlook_empty(ask->outlook) || ask->request.with)
		return node_choice_order(list->c, list->shared, wanted);
	paces_begin(&question.paces, ask->outlook, partners_in_all(list));
	rc = node_choice_by_yield(
		list->c, list->shared, list->count - list->shared, wanted, &yield, &choice);
	paces_end(&question.paces);
	if (rc)
		return -1;
	list->lack = choice.lack;
	list->exploratory = choice.exploratory;
	list->worse = list->shared - choice.good;
	list->shared = choice.good;
	list->count -= list->worse;
	return 0;
}

/* Orders the candidates for a start at `when`, and tells how many nodes the job needs. */
static void put_in_order(
	const struct ask *ask, struct candidates *list, time_t when, uint32_t *need)
{
	*need = candidates_nodes_needed(ask, list->cpus);
	gather_shared(list);
	if (order_shared(ask, list, (int)candidates_wanted(ask, *need)))
		error(STRIPE "no memory to order the nodes for %pJ", ask->job_ptr);
	list->alike = list->alike && !ask->job_ptr->details->contiguous && compat_topology_flat();
	list->partner_only = when < list->alone;
	if (list->partner_only && !list->shared)
		list->count = 0;
}

/* The next usable node from n on with lanes that can hold the job, or -1. */
static int usable_node(const struct ask *ask, int n, const struct layout **layout)
{
	int end = MIN((int)bit_size(ask->nodes), occupancy_nodes(tracker_map()));

	for (; n < end; n++) {
		if (!bit_test(ask->nodes, n))
			continue;
		*layout = layout_of(n);
		if (candidates_lane_cpus(ask, n))
			return n;
	}
	return -1;
}

struct candidates candidates_now(const struct ask *ask, bool preempt, bool losing, uint32_t *need)
{
	const struct occupancy *map = tracker_map();
	struct candidates list = start_list(ask);
	struct ends_check check = {.on = false};
	uint32_t widest = 0;

	if (!preempt)
		ends_begin(ask, &check);
	for (bitoff_t n = bit_ffs(ask->nodes); n >= 0 && n < bit_size(ask->nodes); n++) {
		const struct layout *layout;
		struct candidate c = {.node = (int)n};
		enum occupancy_state state;
		uint32_t cpus;

		if (!bit_test(ask->nodes, n) || n >= occupancy_nodes(map))
			continue;
		state = occupancy_state(map, c.node);
		if (!preempt && (state == OCCUPANCY_CLOSED || state == OCCUPANCY_FULL))
			continue;
		layout = layout_of(c.node);
		if (!layout || !fits(ask, layout, 0, preempt, NULL, &c, &cpus))
			continue;
		if (c.shared && !preempt &&
			(!memory_left(ask, c.node) ||
				ends_put_off(ask, c.node, &check, &list.behind)))
			continue;
		widest = MAX(widest, cpus);
		if (!losing && node_choice_loses(&c))
			list.left_out++;
		else
			append(&list, &c, cpus);
	}
	if (!losing)
		leave_apart(ask, &list);
	list.enough =
		(uint32_t)(list.count + list.left_out) >= candidates_nodes_needed(ask, widest);
	put_in_order(ask, &list, 0, need);
	return list;
}

/* The end of each of the node's jobs, in the map's order; the caller frees it. */
static time_t *ends_on(const struct ask *ask, int node)
{
	const struct occupancy *map = tracker_map();
	int count = occupancy_count(map, node);
	time_t *ends = xcalloc(count + 1, sizeof(*ends));

	for (int i = 0; i < count; i++) {
		uint32_t id = occupancy_at(map, node, i, NULL)->id;

		ends[i] = candidates_preemptable(ask, id) >= 0 ? 0 : ends_of(ask, node, i);
	}
	return ends;
}

/* The first of the ends after `when`, or 0. */
static time_t next_end(const time_t *ends, int count, time_t when)
{
	time_t next = 0;

	for (int i = 0; i < count; i++)
		if (ends[i] > when && (!next || ends[i] < next))
			next = ends[i];
	return next;
}

/* The first of the ends after `when`, or the end of the job's patience where that comes before; 0
 * for none. */
static time_t next_change(const struct ask *ask, const time_t *ends, int count, time_t when)
{
	time_t next = next_end(ends, count, when);

	if (is_patient(ask, when) && (!next || ask->patient_until < next))
		next = ask->patient_until;
	return next;
}

/* The group of all jobs that are on the node now. Some of them may end before the asking job
 * starts. */
static uint64_t group_now(int node)
{
	const struct occupancy *map = tracker_map();
	uint64_t group = 0;

	for (int i = 0; i < occupancy_count(map, node); i++)
		group += partner_group(occupancy_at(map, node, i, NULL)->id);
	return group;
}

/* The usable nodes that can take the job at `when`. later: also nodes that can take it only after
 * that; then `group` is the same for nodes that have the same jobs now. */
static struct candidates collect(const struct ask *ask, time_t when, bool later)
{
	struct candidates list = start_list(ask);
	const struct layout *layout;
	uint32_t cpus;

	for (int n = -1; (n = usable_node(ask, n + 1, &layout)) >= 0;) {
		int count = occupancy_count(tracker_map(), n);
		time_t *ends = ends_on(ask, n), at = when;
		struct candidate c = {.node = n};
		bool found;

		do {
			found = suits(ask, layout, at, ends, &c, &cpus);
		} while (!found && later && (at = next_change(ask, ends, count, at)));
		xfree(ends);
		if (!found)
			continue;
		if (later)
			c.group = group_now(n);
		append(&list, &c, cpus);
	}
	return list;
}

/* A job that names its partner may also have nodes without it, but not before a node with it. */
static void wait_for_partner(struct candidates *list)
{
	time_t from = list->alone;

	for (int i = 0; i < list->count; i++)
		if (list->c[i].shared)
			from = MIN(from, list->c[i].when);
	for (int i = 0; i < list->count; i++)
		if (!list->c[i].shared)
			list->c[i].when = MAX(from, list->c[i].when);
}

struct candidates candidates_later(const struct ask *ask, uint32_t *need)
{
	struct candidates list = collect(ask, 0, true);

	if (is_patient(ask, 0))
		for (int i = together(ask, &list); i < list.count; i++)
			list.c[i].when = MAX(list.c[i].when, ask->patient_until);
	*need = candidates_nodes_needed(ask, list.cpus);
	if (list.alone)
		wait_for_partner(&list);
	qsort(list.c, list.count, sizeof(*list.c), node_choice_by_time);
	return list;
}

struct candidates candidates_at(const struct ask *ask, time_t when, uint32_t *need)
{
	struct candidates list = collect(ask, when, false);

	if (is_patient(ask, when))
		leave_apart(ask, &list);
	put_in_order(ask, &list, when, need);
	return list;
}

int candidates_starts(const struct ask *ask, time_t *start, int max)
{
	const struct occupancy *map = tracker_map();
	const struct layout *layout;
	struct vacancy *v = NULL;
	uint32_t cpus, most = 0, need;
	int count = 0, room = 0, found;

	for (int n = -1; (n = usable_node(ask, n + 1, &layout)) >= 0;) {
		int jobs = occupancy_count(map, n);
		time_t *ends = ends_on(ask, n), when = 0;

		if (count + jobs + 2 > room) {
			room = (count + jobs + 2) * 2;
			xrecalloc(v, room, sizeof(*v));
		}
		do {
			v[count].c = (struct candidate){.node = n};
			v[count].until = next_end(ends, jobs, when);
			if (suits(ask, layout, when, ends, &v[count].c, &cpus)) {
				most = MAX(most, cpus);
				when = v[count++].until;
			} else {
				when = next_change(ask, ends, jobs, when);
			}
		} while (when);
		xfree(ends);
	}
	need = candidates_nodes_needed(ask, most);
	found = partner_times_starts(ask->settings, v, count, (int)need,
		(int)candidates_wanted(ask, need), alone_from(ask), start, max);
	if (found < 0)
		error(STRIPE "no memory to find a start for %pJ", ask->job_ptr);
	xfree(v);
	return found;
}

struct candidates candidates_vacated(const struct ask *ask, bool all)
{
	const struct occupancy *map = tracker_map();
	struct candidates list = start_list(ask);

	for (bitoff_t n = bit_ffs(ask->nodes); n >= 0 && n < bit_size(ask->nodes); n++) {
		struct candidate c = {.node = (int)n};
		time_t *ends;

		if (!bit_test(ask->nodes, n) || n >= occupancy_nodes(map) ||
			(!all && !occupancy_colocated_on(map, c.node)))
			continue;
		ends = ends_on(ask, c.node);
		for (int i = 0; i < occupancy_count(map, c.node); i++) {
			const struct occupancy_job *job = occupancy_at(map, c.node, i, NULL);

			if (!all && !job->colocated)
				continue;
			c.when = MAX(c.when, ends[i]);
		}
		c.group = group_now(c.node);
		xfree(ends);
		list.c[list.count++] = c;
	}
	qsort(list.c, list.count, sizeof(*list.c), node_choice_by_time);
	return list;
}

time_t candidates_latest(const struct candidates *list, bitstr_t *nodes)
{
	time_t when = 0;

	for (int i = 0; i < list->count; i++)
		if (bit_test(nodes, list->c[i].node))
			when = MAX(when, list->c[i].when);
	return when;
}

void candidates_free(struct candidates *list)
{
	xfree(list->c);
}
