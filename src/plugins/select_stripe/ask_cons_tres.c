/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks Slurm's own plugin and puts the job record back as it was. */
#include "plugins/select_stripe/ask_cons_tres.h"

#include "plugins/select_stripe/load_cons_tres.h"
#include "plugins/select_stripe/tracker.h"

SLURM_WEAK(node_record_table_ptr)
SLURM_WEAK(node_record_count)

/* What Slurm's plugin may change in a job record although it did not place the job. */
struct saved {
	uint64_t pn_min_memory;
	uint64_t asked_memory; /* what the job asks for in place of that; 0 = the same */
	uint32_t min_cpus;
	uint32_t orig_pn_min_cpus;
	uint8_t whole_node;
	uint64_t bit_flags;
	bitstr_t *req_node_bitmap;
	bool had_list;
};

/*
 * Keeps what Slurm's plugin may change, and lets a co-located job ask for a lane of each node.
 * memory_cpus: for how many CPUs of each node memory per CPU counts, 0 = for those that Slurm
 * counts. Of a lane it counts all, or those of the tasks alone, by options that say nothing of
 * memory; the job is billed for all.
 */
static void save(const struct ask *ask, int memory_cpus, struct saved *s)
{
	job_details_t *details = ask->job_ptr->details;

	s->pn_min_memory = details->pn_min_memory;
	s->asked_memory = 0;
	if (memory_cpus && details->pn_min_memory & MEM_PER_CPU && !ask->job_ptr->mem_per_tres) {
		s->asked_memory = (details->pn_min_memory & ~MEM_PER_CPU) * (uint64_t)memory_cpus;
		details->pn_min_memory = s->asked_memory;
	}
	s->min_cpus = details->min_cpus;
	s->whole_node = details->whole_node;
	s->orig_pn_min_cpus = details->orig_pn_min_cpus;
	s->bit_flags = ask->job_ptr->bit_flags;
	s->req_node_bitmap = details->req_node_bitmap;
	s->had_list = ask->preempted && *ask->preempted;
	if (ask->me.request) {
		/* The job gets one lane of a node even where it asked for the whole node. */
		details->whole_node = 0;
		compat_ask_for_lane(details);
	}
}

static void restore(const struct ask *ask, const struct saved *s, int rc)
{
	job_details_t *details = ask->job_ptr->details;

	details->whole_node = s->whole_node;
	details->orig_pn_min_cpus = s->orig_pn_min_cpus;
	details->req_node_bitmap = s->req_node_bitmap;
	if (!(s->bit_flags & TEST_NOW_ONLY))
		ask->job_ptr->bit_flags &= ~(uint64_t)TEST_NOW_ONLY;
	if (rc != SLURM_SUCCESS || (s->asked_memory && details->pn_min_memory == s->asked_memory))
		details->pn_min_memory = s->pn_min_memory;
	if (rc == SLURM_SUCCESS)
		return;
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
		if (layout->of[c->shape].lane_of[core] != c->lane)
			compat_exc_core(exc, c->node, core);
}

/* Notes on which of the nodes the job's lanes are whole sockets. */
static void note_shapes(struct ask *ask, const struct candidates *list)
{
	FREE_NULL_BITMAP(ask->on_sockets);
	for (int i = 0; i < list->count; i++) {
		if (list->c[i].shape != SHAPE_SOCKET)
			continue;
		if (!ask->on_sockets)
			ask->on_sockets = bit_alloc(bit_size(ask->nodes));
		bit_set(ask->on_sockets, list->c[i].node);
	}
}

int ask_cons_tres_lanes(struct ask *ask, const struct candidates *list, int count, int require,
	bool now_only, bool preempt)
{
	bitstr_t *required = ask->job_ptr->details->req_node_bitmap, *must = NULL;
	bitstr_t *nodes = bit_alloc(bit_size(ask->nodes));
	compat_exc_t exc = compat_exc_copy(ask->exc);
	int rc = SLURM_ERROR, cpus = -1; /* of every lane; 0 where they differ */
	struct saved saved;

	for (int i = 0; i < list->count; i++) {
		const struct candidate *c = &list->c[i];
		int here;

		if (i >= count && !(required && bit_test(required, c->node)))
			continue;
		bit_set(nodes, c->node);
		exclude_others(exc, c, layout_of(c->node));
		here = candidates_memory_cpus(ask->job_ptr, layout_of(c->node));
		cpus = cpus < 0 || cpus == here ? here : 0;
	}
	if (!has_required(ask, nodes))
		goto out;
	save(ask, cpus > 0 ? cpus : 0, &saved);
	if (require) {
		must = required ? bit_copy(required) : bit_alloc(bit_size(nodes));
		for (int i = 0; i < require; i++)
			bit_set(must, list->c[i].node);
		ask->job_ptr->details->req_node_bitmap = must;
	}
	if (now_only)
		ask->job_ptr->bit_flags |= TEST_NOW_ONLY;
	rc = cons_tres.job_test(ask->job_ptr, nodes, ask->min_nodes, ask->max_nodes, ask->req_nodes,
		ask->mode, preempt ? ask->preemptable : NULL, ask->preempted,
		exc COMPAT_WILL_RUN_ARG(ask->will_run));
	restore(ask, &saved, rc);
	if (rc == SLURM_SUCCESS) {
		bit_clear_all(ask->nodes);
		bit_or(ask->nodes, nodes);
		note_shapes(ask, list);
	}
out:
	FREE_NULL_BITMAP(must);
	FREE_NULL_BITMAP(nodes);
	compat_exc_free(exc);
	return rc;
}

int ask_cons_tres_nodes(struct ask *ask, bitstr_t *nodes, uint32_t least)
{
	struct saved saved;
	int rc;

	if (!has_required(ask, nodes))
		return SLURM_ERROR;
	save(ask, 0, &saved);
	rc = cons_tres.job_test(ask->job_ptr, nodes, MAX(least, ask->min_nodes), ask->max_nodes,
		MAX(least, ask->req_nodes), ask->mode, ask->preemptable, ask->preempted,
		ask->exc COMPAT_WILL_RUN_ARG(ask->will_run));
	restore(ask, &saved, rc);
	return rc;
}

/* Notes which jobs Slurm's plugin has listed itself. */
static void note_listed(const struct ask *ask)
{
	list_itr_t *iter = list_iterator_create(*ask->preempted);
	job_record_t *job_ptr;
	int at;

	while ((job_ptr = list_next(iter)))
		if ((at = candidates_preemptable(ask, job_ptr->job_id)) >= 0)
			ask->by_id->listed[at] = true;
	list_iterator_destroy(iter);
}

void ask_cons_tres_preempt_rest(struct ask *ask, bool colocated)
{
	const struct occupancy *map = tracker_map();

	if (!ask->preempted)
		return;
	if (*ask->preempted)
		note_listed(ask);
	for (bitoff_t n = bit_ffs(ask->nodes); n >= 0 && n < bit_size(ask->nodes); n++) {
		enum stripe_shape mine = SHAPE_STRIPE;

		if (!bit_test(ask->nodes, n) || n >= occupancy_nodes(map))
			continue;
		if (ask->on_sockets && bit_test(ask->on_sockets, n))
			mine = SHAPE_SOCKET;
		for (int i = 0; i < occupancy_count(map, n); i++) {
			struct occupancy_place place;
			const struct occupancy_job *job = occupancy_at(map, n, i, &place);
			const struct partner *p = tracker_partner(job);
			job_record_t *job_ptr;
			int at;

			/* A lane of the other shape overlaps with the job's, also where Slurm has
			 * found enough cores for it beside that. */
			if (colocated ? p && candidates_suit(ask, &p, 1) &&
						!LANES_HAVE(place.lanes, !mine)
				      : !job->colocated)
				continue;
			at = candidates_preemptable(ask, job->id);
			job_ptr =
				at < 0 || ask->by_id->listed[at] ? NULL : find_job_record(job->id);
			if (!job_ptr)
				continue;
			if (!*ask->preempted)
				*ask->preempted = list_create(NULL);
			list_append(*ask->preempted, job_ptr);
			ask->by_id->listed[at] = true;
		}
	}
}
