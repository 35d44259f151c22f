/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which job has which lanes of which nodes. Knows no Slurm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "striping/lanes/lanes.h"

/*
 * A map of the cluster's nodes. It repeats what Slurm's job records say, and each start and end of
 * a job updates it, so that placing a job does not walk over all records. Where the two differ, the
 * records are right: the owner (plugins/select_stripe/tracker.c) makes a new map from them now and
 * then, compares the two with occupancy_same(), and keeps the new one if they differ. The map is in
 * memory only, so a crash leaves nothing of it. It has no lock: the owner's callers hold one.
 */
struct occupancy;

/* A job with resources; data is the caller's and is given to its release function at the end. */
struct occupancy_job {
	uint32_t id;
	bool colocated;
	void *data;
	int count; /* nodes it is on, in any order */
	const int *node;
};

/* What a job has on one node. */
struct occupancy_place {
	int node;        /* 0 to nodes-1 */
	uint32_t lanes;  /* LANE_BIT() of each lane of which it has cores; several if lanes changed
			  */
	uint64_t memory; /* MB */
};

enum occupancy_state {
	OCCUPANCY_EMPTY,   /* no job */
	OCCUPANCY_PARTIAL, /* co-located jobs only, at least one lane free */
	OCCUPANCY_FULL,    /* co-located jobs only, no lane free of the shape that they have */
	OCCUPANCY_CLOSED,  /* at least one job that did not opt in */
};

/*
 * A map of `nodes` empty nodes with lanes (1..LANES_MAX) stripes each, and no lanes of whole
 * sockets. release may be NULL. Returns NULL with ENOMEM or EINVAL.
 */
struct occupancy *occupancy_new(int nodes, int lanes, void (*release)(void *data));

/* Another number of lanes of a shape (0..LANES_MAX) for one node of the map. */
void occupancy_set_lanes(struct occupancy *o, int node, enum stripe_shape shape, int lanes);
void occupancy_free(struct occupancy *o);

int occupancy_nodes(const struct occupancy *o);

/*
 * Enters a job with its places, in place of any job with this id. Takes data over in every case.
 * Returns 0, or -1 with EINVAL (a node out of range or twice) or ENOMEM; then the job is not in the
 * map.
 */
int occupancy_add(struct occupancy *o, uint32_t job, bool colocated, void *data,
	const struct occupancy_place *places, int count);

/* Takes a job off all its nodes, or off one. Returns false where it was not there. */
bool occupancy_remove(struct occupancy *o, uint32_t job);
bool occupancy_remove_node(struct occupancy *o, uint32_t job, int node);

/* The job, or NULL; valid until the next change. */
const struct occupancy_job *occupancy_find(const struct occupancy *o, uint32_t job);

/* How many jobs a node has, and the i-th of them with its place (lanes, memory; may be NULL). */
int occupancy_count(const struct occupancy *o, int node);
const struct occupancy_job *occupancy_at(
	const struct occupancy *o, int node, int i, struct occupancy_place *place);

enum occupancy_state occupancy_state(const struct occupancy *o, int node);

/* The lanes (LANE_BIT()) that co-located jobs have on the node. */
uint32_t occupancy_taken(const struct occupancy *o, int node);

/* How many of the node's jobs are co-located ones. */
int occupancy_colocated_on(const struct occupancy *o, int node);

/* MB that the node's jobs have together. */
uint64_t occupancy_memory(const struct occupancy *o, int node);

/* Co-located jobs in the map. */
size_t occupancy_colocated(const struct occupancy *o);

/* The nodes of each of these, added up. */
size_t occupancy_colocated_places(const struct occupancy *o);

/* Whether two maps say the same about every node. The first difference goes to err. */
bool occupancy_same(const struct occupancy *a, const struct occupancy *b, struct errmsg *err);
