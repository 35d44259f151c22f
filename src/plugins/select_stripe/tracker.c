/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows which job has which lanes. */
#include "plugins/select_stripe/tracker.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/settings_kept.h"
#include "plugins/select_stripe/history.h"
#include "plugins/select_stripe/layout.h"
#include "plugins/select_stripe/job_option.h"
#include "plugins/select_stripe/stripe.h"
#include "striping/lanes/lanes.h"

SLURM_WEAK(slurm_conf)
SLURM_WEAK(job_list)
SLURM_WEAK(node_record_count)

#define CHECK_EVERY_S 300
#define CHECK_EVERY_DEBUG_S 2
/* After so many failed checks the map is not to be trusted. */
#define FAILED_CHECKS_MAX 3

/* What partner choice needs of a co-located job, for as long as it has resources. */
struct tracked {
	struct partner partner;
	struct colocate request;
	struct apart apart;
	char *name;
	char class_name[PAIRS_CLASS_MAX];
};

/*
 * The map of the lanes and what belongs to it; select_stripe.c's lock guards all of it.
 *
 * - asleep: map is NULL. No co-located job was seen, and nothing is kept.
 * - awake: map has all jobs that have resources. tracker_wake() makes it from the job records; each
 *   event changes it; tracker_check() compares it with the records and replaces it where it
 *   differs, or where the layout of a node has changed.
 * - reset: between tracker_reset() and tracker_rebuild() slurmctld replaces its node and job
 *   tables. map is NULL, because its node numbers mean nothing, and nothing can wake it. `wanted`
 *   remembers that there was a map, or that a co-located job came in the meantime.
 * - given up: after FAILED_CHECKS_MAX differences map is NULL until tracker_rebuild(). Co-located
 *   jobs wait, and Slurm places the others alone.
 */
static struct occupancy *map;
static bitstr_t *nodes; /* those with a co-located job, by the map */
static bool resetting;
static bool wanted;
static time_t last_check;
static int failed_checks; /* since tracker_rebuild() */
static struct poppa_settings settings;
static bool settings_read;

static void release(void *data)
{
	struct tracked *t = data;

	free(t->name);
	free(t);
}

/* The type of a job's nodes with the lanes that it has there, "" where they are not all of one. */
static const char *type_of(const struct occupancy_place *place, int count)
{
	int type = -1;

	for (int i = 0; layout_type(1) && i < count; i++) {
		const struct layout *layout = layout_of(place[i].node);
		int here;

		if (!layout)
			continue;
		here = layout->of[LANES_HAVE(place[i].lanes, SHAPE_SOCKET)].type;
		if (type >= 0 && here != type)
			return "";
		type = here;
	}
	return layout_type(MAX(type, 0));
}

static struct tracked *describe(
	const job_record_t *job_ptr, const struct occupancy_place *place, int count)
{
	struct tracked *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	job_option_read(job_ptr, &t->request);
	t->name = strdup(job_ptr->name ? job_ptr->name : "");
	job_option_class(job_ptr, &t->request, &settings, history_get(NULL),
		(uint32_t)bit_set_count(job_ptr->job_resrcs->node_bitmap), type_of(place, count),
		t->class_name);
	history_put();
	t->partner.id = job_ptr->job_id;
	t->partner.array_id = job_ptr->array_job_id;
	t->partner.name = t->name;
	t->partner.class_name = t->class_name;
	t->partner.request = &t->request;
	apart_read(job_ptr->system_comment, &t->apart);
	t->partner.apart = &t->apart;
	return t;
}

const struct partner *tracker_partner(const struct occupancy_job *job)
{
	return job->data ? &((const struct tracked *)job->data)->partner : NULL;
}

bool tracker_awake(void)
{
	return map;
}

const struct poppa_settings *tracker_settings(void)
{
	if (!settings_read)
		settings_defaults(&settings);
	settings_read = true;
	return &settings;
}

const struct occupancy *tracker_map(void)
{
	return map;
}

bitstr_t *tracker_nodes(void)
{
	return nodes;
}

static int cores_of(job_resources_t *res, int n)
{
	uint16_t sockets = 0, cores = 0;

	return get_job_resources_cnt(res, n, &sockets, &cores) ? 0 : sockets * cores;
}

static uint32_t all_stripes(const struct layout *layout)
{
	return LANE_BITS(SHAPE_STRIPE, layout ? layout->lanes : LANES_MAX);
}

/* What cores of a node are to its lanes of one shape. */
struct cover {
	uint32_t lanes; /* that they are in */
	int outside;    /* so many are in no lane */
	int cores;
};

static struct cover find_cover(
	const struct layout *layout, enum stripe_shape shape, bitstr_t *cores, int first_core)
{
	const struct lane_set *set = &layout->of[shape];
	struct cover cover = {0};

	for (int c = 0; set->size.cores && c < layout->cores; c++) {
		if (!bit_test(cores, first_core + c))
			continue;
		cover.cores++;
		if (set->lane_of[c] == LANE_NONE)
			cover.outside++;
		else
			cover.lanes |= LANE_BIT(shape, set->lane_of[c]);
	}
	return cover;
}

/* Whether these are cores of one lane, and of that all where it is to be `whole`. */
static bool is_lane(const struct cover *c, const struct lane_set *set, bool whole)
{
	return c->lanes && !(c->lanes & (c->lanes - 1)) && !c->outside &&
	       (!whole || c->cores == set->size.cores);
}

uint32_t tracker_lanes_of(
	const job_record_t *job_ptr, int n, int node, int first_core, enum stripe_shape shape)
{
	job_resources_t *res = job_ptr->job_resrcs;
	const struct layout *layout = layout_of(node);
	struct cover cover[STRIPE_SHAPES];

	if (!res->core_bitmap || !layout || cores_of(res, n) != layout->cores ||
		first_core + layout->cores > bit_size(res->core_bitmap))
		return all_stripes(layout);
	for (int i = 0; i < STRIPE_SHAPES; i++)
		cover[i] = find_cover(layout, i, res->core_bitmap, first_core);
	/* Jobs have whole lanes, as long as a partition allows them. */
	for (int whole = 1; whole >= 0; whole--)
		for (int i = 0; i < STRIPE_SHAPES; i++) {
			enum stripe_shape s = i ? !shape : shape;

			if (is_lane(&cover[s], &layout->of[s], whole))
				return cover[s].lanes;
		}
	/* The number of lanes has changed: it has several lanes of whole sockets now, and the
	 * others are free. */
	if (cover[SHAPE_SOCKET].lanes && !cover[SHAPE_SOCKET].outside &&
		cover[SHAPE_SOCKET].cores ==
			__builtin_popcount(cover[SHAPE_SOCKET].lanes) * layout->lane_cores &&
		cover[SHAPE_STRIPE].lanes == all_stripes(layout))
		return cover[SHAPE_SOCKET].lanes;
	return cover[SHAPE_STRIPE].lanes ? cover[SHAPE_STRIPE].lanes : all_stripes(layout);
}

static enum stripe_shape shape_on(const struct occupancy *o, int node, const struct layout *layout)
{
	uint32_t taken = o && node < occupancy_nodes(o) ? occupancy_taken(o, node) : 0;

	return taken ? LANES_HAVE(taken, SHAPE_SOCKET) : layout->usual;
}

enum stripe_shape tracker_shape(int node, const struct layout *layout)
{
	return shape_on(map, node, layout);
}

/* What the job has of each node, with at most `most` MB on any; returns of how many nodes. */
static int read_places(const struct occupancy *o, const job_record_t *job_ptr, bool colocated,
	uint64_t most, struct occupancy_place *place)
{
	job_resources_t *res = job_ptr->job_resrcs;
	struct colocate request = {.shaped = false};
	int count = 0, n = 0, core = 0;

	if (colocated)
		job_option_read(job_ptr, &request);
	for (bitoff_t i = bit_ffs(res->node_bitmap); i >= 0 && i < bit_size(res->node_bitmap);
		i++) {
		if (!bit_test(res->node_bitmap, i))
			continue;
		if (i < occupancy_nodes(o)) {
			const struct layout *layout = layout_of((int)i);
			enum stripe_shape shape = request.shape;

			if (!request.shaped && layout)
				shape = shape_on(o, (int)i, layout);
			place[count].node = (int)i;
			place[count].memory =
				res->memory_allocated ? MIN(res->memory_allocated[n], most) : 0;
			place[count].lanes =
				colocated ? tracker_lanes_of(job_ptr, n, (int)i, core, shape) : 0;
			if (LANES_HAVE(place[count++].lanes, SHAPE_SOCKET))
				layout_expect_sockets();
		}
		core += cores_of(res, n++);
	}
	return count;
}

/* Enters a job into the map, with at most `most` MB on any node, even where its record says more.
 */
static void enter(struct occupancy *o, const job_record_t *job_ptr, uint64_t most)
{
	bool colocated = job_option_find(job_ptr);
	struct tracked *t = NULL;
	struct occupancy_place *place;
	int count = 0;

	place = calloc(bit_set_count(job_ptr->job_resrcs->node_bitmap) + 1, sizeof(*place));
	if (place)
		count = read_places(o, job_ptr, colocated, most, place);
	if (place && colocated)
		t = describe(job_ptr, place, count);
	if (!place || (colocated && !t))
		error(STRIPE "no memory to follow %pJ", job_ptr);
	else if (occupancy_add(o, job_ptr->job_id, colocated, t, place, count))
		error(STRIPE "cannot follow %pJ: %m", job_ptr);
	free(place);
}

static bool has_resources(const job_record_t *job_ptr)
{
	return (IS_JOB_RUNNING(job_ptr) || IS_JOB_SUSPENDED(job_ptr)) && job_ptr->job_resrcs &&
	       job_ptr->job_resrcs->node_bitmap;
}

static struct occupancy *read_jobs(void)
{
	struct occupancy *o = occupancy_new(node_record_count, LANES_MAX, release);
	const struct layout *layout;
	list_itr_t *iter;
	job_record_t *job_ptr;

	if (!o) {
		error(STRIPE "no memory for the lane occupancy: co-located jobs wait");
		return NULL;
	}
	for (int n = 0; n < node_record_count; n++)
		for (int i = 0; (layout = layout_of(n)) && i < STRIPE_SHAPES; i++)
			occupancy_set_lanes(o, n, i,
				layout->of[i].size.cores || i == SHAPE_STRIPE ? layout->lanes : 0);
	iter = list_iterator_create(job_list);
	while ((job_ptr = list_next(iter)))
		if (has_resources(job_ptr))
			enter(o, job_ptr, UINT64_MAX);
	list_iterator_destroy(iter);
	return o;
}

static void note_node(int node)
{
	if (node >= bit_size(nodes))
		return;
	if (occupancy_colocated_on(map, node))
		bit_set(nodes, node);
	else
		bit_clear(nodes, node);
}

static void replace_map(struct occupancy *o)
{
	occupancy_free(map);
	map = o;
	FREE_NULL_BITMAP(nodes);
	if (!map)
		return;
	nodes = bit_alloc(node_record_count ? node_record_count : 1);
	for (int n = 0; n < occupancy_nodes(map); n++)
		note_node(n);
	last_check = time(NULL);
}

void tracker_reset(void)
{
	wanted = wanted || map;
	replace_map(NULL);
	layout_reset(tracker_settings());
	resetting = true;
}

static void read_settings(void)
{
	int lanes = tracker_settings()->stripe_lanes;
	struct errmsg err = {""};
	static bool before;

	if (settings_follow(slurm_conf.prep_params, slurm_conf.state_save_location, !before,
		    &settings, &err))
		error(STRIPE "PrEpParameters: %s", err.text);
	before = true;
	history_settings(&settings);
	if (settings.stripe_lanes != lanes)
		info(STRIPE "%d lanes", settings.stripe_lanes);
}

void tracker_rebuild(void)
{
	struct occupancy *o = NULL;

	resetting = false;
	failed_checks = 0;
	read_settings();
	layout_reset(&settings);
	if (wanted || map)
		o = read_jobs();
	if (o && !occupancy_colocated(o)) {
		occupancy_free(o);
		o = NULL;
	}
	wanted = false;
	replace_map(o);
}

bool tracker_wake(void)
{
	if (map)
		return true;
	if (resetting || failed_checks == FAILED_CHECKS_MAX)
		return false;
	replace_map(read_jobs());
	return map;
}

static void add(job_record_t *job_ptr, uint64_t most)
{
	const struct occupancy_job *job;

	if (!has_resources(job_ptr))
		return;
	if (!map) {
		wanted = wanted || (resetting && job_option_find(job_ptr));
		return;
	}
	tracker_remove(job_ptr);
	enter(map, job_ptr, most);
	job = occupancy_find(map, job_ptr->job_id);
	for (int i = 0; job && job->colocated && i < job->count; i++)
		note_node(job->node[i]);
}

void tracker_add(job_record_t *job_ptr)
{
	add(job_ptr, UINT64_MAX);
}

void tracker_reduce_memory(job_record_t *job_ptr)
{
	add(job_ptr, job_ptr->details->pn_min_memory);
}

void tracker_remove(const job_record_t *job_ptr)
{
	const struct occupancy_job *job = map ? occupancy_find(map, job_ptr->job_id) : NULL;
	int count = job && job->colocated ? job->count : 0;
	int *was = NULL;

	if (!job)
		return;
	if (count) {
		was = xcalloc(count, sizeof(*was));
		memcpy(was, job->node, count * sizeof(*was));
	}
	occupancy_remove(map, job_ptr->job_id);
	for (int i = 0; i < count; i++)
		note_node(was[i]);
	xfree(was);
}

void tracker_remove_node(const job_record_t *job_ptr, int node)
{
	if (map && occupancy_remove_node(map, job_ptr->job_id, node))
		note_node(node);
}

void tracker_check(void)
{
	time_t now = time(NULL);
	int every = slurm_conf.debug_flags & DEBUG_FLAG_SELECT_TYPE ? CHECK_EVERY_DEBUG_S
								    : CHECK_EVERY_S;
	struct occupancy *fresh;
	struct errmsg err = {""};

	if (map && layout_changed()) {
		/* The map's lane numbers are of a layout that no longer holds. */
		layout_reset(&settings);
		replace_map(read_jobs());
		return;
	}
	if (!map || now - last_check < every)
		return;
	last_check = now;
	fresh = read_jobs();
	if (!fresh)
		return;
	if (occupancy_same(map, fresh, &err)) {
		occupancy_free(fresh);
		return;
	}
	if (++failed_checks == FAILED_CHECKS_MAX) {
		error(STRIPE
			"the lane occupancy differed from the jobs' records again (%s): co-located "
			"jobs wait, and others are placed by Slurm alone, until slurmctld is "
			"reconfigured; please report this",
			err.text);
		occupancy_free(fresh);
		replace_map(NULL);
		return;
	}
	error(STRIPE "the lane occupancy differed from the jobs' records (%s) and was rebuilt; "
		     "please report this",
		err.text);
	replace_map(fresh);
}
