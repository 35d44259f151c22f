/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps which job has which lanes of which nodes. */
#include "striping/lanes/occupancy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 256

struct job {
	struct occupancy_job pub;
	struct job *next; /* in its bucket */
	int *node;        /* pub.node, to write to */
};

struct seat {
	struct job *job;
	uint32_t lanes;
	uint64_t memory;
};

struct node {
	struct seat *seat;
	uint16_t count, room;
	uint16_t strangers; /* seats of jobs that did not opt in */
	uint32_t all_lanes[STRIPE_SHAPES];
};

struct occupancy {
	int nodes;
	void (*release)(void *data);
	struct node *node;
	struct job **bucket;
	size_t buckets, jobs, colocated, colocated_places;
};

struct occupancy *occupancy_new(int nodes, int lanes, void (*release)(void *data))
{
	struct occupancy *o;

	if (nodes < 0 || lanes < 1 || lanes > LANES_MAX) {
		errno = EINVAL;
		return NULL;
	}
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->nodes = nodes;
	o->release = release;
	o->buckets = FIRST_BUCKETS;
	o->node = calloc(nodes ? nodes : 1, sizeof(*o->node));
	o->bucket = calloc(o->buckets, sizeof(*o->bucket));
	if (!o->node || !o->bucket) {
		occupancy_free(o);
		errno = ENOMEM;
		return NULL;
	}
	for (int n = 0; n < nodes; n++)
		occupancy_set_lanes(o, n, SHAPE_STRIPE, lanes);
	return o;
}

void occupancy_set_lanes(struct occupancy *o, int node, enum stripe_shape shape, int lanes)
{
	o->node[node].all_lanes[shape] = LANE_BITS(shape, lanes);
}

static void free_job(struct occupancy *o, struct job *job)
{
	if (job->pub.data && o->release)
		o->release(job->pub.data);
	free(job->node);
	free(job);
}

void occupancy_free(struct occupancy *o)
{
	if (!o)
		return;
	for (size_t b = 0; o->bucket && b < o->buckets; b++) {
		while (o->bucket[b]) {
			struct job *job = o->bucket[b];

			o->bucket[b] = job->next;
			free_job(o, job);
		}
	}
	for (int n = 0; o->node && n < o->nodes; n++)
		free(o->node[n].seat);
	free(o->bucket);
	free(o->node);
	free(o);
}

int occupancy_nodes(const struct occupancy *o)
{
	return o->nodes;
}

/* Job ids are handed out in sequence, so their low bits spread them evenly. */
static struct job **find_link(const struct occupancy *o, uint32_t id)
{
	struct job **link = &o->bucket[id & (o->buckets - 1)];

	while (*link && (*link)->pub.id != id)
		link = &(*link)->next;
	return link;
}

static void grow_buckets(struct occupancy *o)
{
	size_t more = o->buckets * 2;
	struct job **bucket = calloc(more, sizeof(*bucket));

	if (!bucket)
		return;
	for (size_t b = 0; b < o->buckets; b++) {
		while (o->bucket[b]) {
			struct job *job = o->bucket[b];

			o->bucket[b] = job->next;
			job->next = bucket[job->pub.id & (more - 1)];
			bucket[job->pub.id & (more - 1)] = job;
		}
	}
	free(o->bucket);
	o->bucket = bucket;
	o->buckets = more;
}

static int find_seat(const struct node *node, const struct job *job)
{
	for (int i = 0; i < node->count; i++)
		if (node->seat[i].job == job)
			return i;
	return -1;
}

static bool leave_node(struct occupancy *o, struct job *job, int n)
{
	struct node *node = &o->node[n];
	int i = find_seat(node, job);

	if (i < 0)
		return false;
	/* The seats stay in order of arrival, so that the same events give the same map. */
	memmove(&node->seat[i], &node->seat[i + 1], (node->count - i - 1) * sizeof(*node->seat));
	node->count--;
	node->strangers -= !job->pub.colocated;
	o->colocated_places -= job->pub.colocated;
	return true;
}

static int enter_node(struct occupancy *o, struct job *job, const struct occupancy_place *place)
{
	struct node *node;

	if (place->node < 0 || place->node >= o->nodes ||
		find_seat(&o->node[place->node], job) >= 0) {
		errno = EINVAL;
		return -1;
	}
	node = &o->node[place->node];
	if (node->count == node->room) {
		uint16_t room = node->room ? node->room * 2 : 2;
		struct seat *seat = realloc(node->seat, room * sizeof(*seat));

		if (!seat)
			return -1;
		node->seat = seat;
		node->room = room;
	}
	node->seat[node->count++] = (struct seat){job, place->lanes, place->memory};
	node->strangers += !job->pub.colocated;
	o->colocated_places += job->pub.colocated;
	job->node[job->pub.count++] = place->node;
	return 0;
}

static void leave_all(struct occupancy *o, struct job *job)
{
	for (int i = 0; i < job->pub.count; i++)
		leave_node(o, job, job->node[i]);
}

int occupancy_add(struct occupancy *o, uint32_t id, bool colocated, void *data,
	const struct occupancy_place *places, int count)
{
	struct job *job, **link;

	occupancy_remove(o, id);
	job = calloc(1, sizeof(*job));
	if (job)
		job->node = malloc((count ? count : 1) * sizeof(*job->node));
	if (!job || !job->node) {
		free(job);
		if (data && o->release)
			o->release(data);
		errno = ENOMEM;
		return -1;
	}
	job->pub.id = id;
	job->pub.colocated = colocated;
	job->pub.data = data;
	job->pub.node = job->node;
	for (int i = 0; i < count; i++) {
		if (enter_node(o, job, &places[i])) {
			int saved = errno;

			leave_all(o, job);
			free_job(o, job);
			errno = saved;
			return -1;
		}
	}
	if (o->jobs >= o->buckets)
		grow_buckets(o);
	link = find_link(o, id);
	*link = job;
	o->jobs++;
	o->colocated += colocated;
	return 0;
}

bool occupancy_remove(struct occupancy *o, uint32_t id)
{
	struct job **link = find_link(o, id), *job = *link;

	if (!job)
		return false;
	*link = job->next;
	leave_all(o, job);
	o->jobs--;
	o->colocated -= job->pub.colocated;
	free_job(o, job);
	return true;
}

bool occupancy_remove_node(struct occupancy *o, uint32_t id, int node)
{
	struct job *job = *find_link(o, id);

	if (!job || node < 0 || node >= o->nodes || !leave_node(o, job, node))
		return false;
	for (int i = 0; i < job->pub.count; i++)
		if (job->node[i] == node)
			job->node[i] = job->node[--job->pub.count];
	return true;
}

const struct occupancy_job *occupancy_find(const struct occupancy *o, uint32_t id)
{
	struct job *job = *find_link(o, id);

	return job ? &job->pub : NULL;
}

int occupancy_count(const struct occupancy *o, int node)
{
	return o->node[node].count;
}

const struct occupancy_job *occupancy_at(
	const struct occupancy *o, int node, int i, struct occupancy_place *place)
{
	const struct seat *seat = &o->node[node].seat[i];

	if (place)
		*place = (struct occupancy_place){node, seat->lanes, seat->memory};
	return &seat->job->pub;
}

uint32_t occupancy_taken(const struct occupancy *o, int node)
{
	const struct node *n = &o->node[node];
	uint32_t taken = 0;

	for (int i = 0; i < n->count; i++)
		if (n->seat[i].job->pub.colocated)
			taken |= n->seat[i].lanes;
	return taken & (n->all_lanes[SHAPE_STRIPE] | n->all_lanes[SHAPE_SOCKET]);
}

/* Lanes of both shapes are given out where their numbers have changed: then no more are. */
static bool is_full(const struct node *n, uint32_t taken)
{
	bool sockets = LANES_HAVE(taken, SHAPE_SOCKET);

	return (sockets && LANES_HAVE(taken, SHAPE_STRIPE)) || taken == n->all_lanes[sockets];
}

enum occupancy_state occupancy_state(const struct occupancy *o, int node)
{
	const struct node *n = &o->node[node];

	if (!n->count)
		return OCCUPANCY_EMPTY;
	if (n->strangers)
		return OCCUPANCY_CLOSED;
	return is_full(n, occupancy_taken(o, node)) ? OCCUPANCY_FULL : OCCUPANCY_PARTIAL;
}

int occupancy_colocated_on(const struct occupancy *o, int node)
{
	return o->node[node].count - o->node[node].strangers;
}

uint64_t occupancy_memory(const struct occupancy *o, int node)
{
	const struct node *n = &o->node[node];
	uint64_t memory = 0;

	for (int i = 0; i < n->count; i++)
		memory += n->seat[i].memory;
	return memory;
}

size_t occupancy_colocated(const struct occupancy *o)
{
	return o->colocated;
}

size_t occupancy_colocated_places(const struct occupancy *o)
{
	return o->colocated_places;
}

/* Every seat of a's node is also b's. */
static bool same_node(
	const struct node *a, const struct node *b, int n, bool turned, struct errmsg *err)
{
	for (int i = 0; i < a->count; i++) {
		const struct seat *seat = &a->seat[i];
		int k = 0;

		while (k < b->count && b->seat[k].job->pub.id != seat->job->pub.id)
			k++;
		if (k == b->count || b->seat[k].lanes != seat->lanes ||
			b->seat[k].job->pub.colocated != seat->job->pub.colocated) {
			errmsg_set(err, "job %u has lanes 0x%x of node %d in one map and %s",
				(unsigned int)seat->job->pub.id, (unsigned int)seat->lanes, n,
				k == b->count ? "is not there in the other"
					      : "others in the other");
			return false;
		}
	}
	for (int i = 0; i < STRIPE_SHAPES; i++) {
		if (a->all_lanes[i] == b->all_lanes[i])
			continue;
		errmsg_set(err, "node %d has lanes 0x%x in one map and 0x%x in the other", n,
			(unsigned int)a->all_lanes[i], (unsigned int)b->all_lanes[i]);
		return false;
	}
	return turned || same_node(b, a, n, true, err);
}

bool occupancy_same(const struct occupancy *a, const struct occupancy *b, struct errmsg *err)
{
	if (a->nodes != b->nodes) {
		errmsg_set(err, "%d nodes against %d", a->nodes, b->nodes);
		return false;
	}
	for (int n = 0; n < a->nodes; n++)
		if (!same_node(&a->node[n], &b->node[n], n, false, err))
			return false;
	return true;
}
