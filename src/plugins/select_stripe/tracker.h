/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the lane occupancy in step with slurmctld's job records. The caller holds the job lock. */
#pragma once

#include "common/settings.h"
#include "plugins/compat/select_compat.h"
#include "plugins/select_stripe/layout.h"
#include "striping/lanes/occupancy.h"
#include "striping/partners/partner.h"

/*
 * Until the first co-located job is seen the tracker is asleep and keeps nothing. From then on it
 * keeps all jobs: tracker_wake() builds the map where there is none. It returns false without
 * memory, or after tracker_check() has found the map wrong too often.
 */
bool tracker_awake(void);
bool tracker_wake(void);

/* The node table is about to be replaced: forgets everything until tracker_rebuild(). */
void tracker_reset(void);

/* The job table is complete again: reads the settings, and makes a new map if there was one before
 * or a co-located job came in the meantime. */
void tracker_rebuild(void);

/* A job has got or lost its resources, or has lost one node. Where its record contradicts itself,
 * the usable part is entered. */
void tracker_add(job_record_t *job_ptr);
void tracker_remove(const job_record_t *job_ptr);
void tracker_remove_node(const job_record_t *job_ptr, int node);

/* Slurm is about to cut the job's memory on each node down to what its record asks for. */
void tracker_reduce_memory(job_record_t *job_ptr);

/*
 * Compares the map with the job records every few minutes. Logs a difference and makes a new map
 * from the records; at the third difference gives the map up until tracker_rebuild().
 */
void tracker_check(void);

/* The cluster's settings as they were read last. */
const struct poppa_settings *tracker_settings(void);
const struct occupancy *tracker_map(void);

/* Nodes that have a co-located job. */
bitstr_t *tracker_nodes(void);

/* The partner description of a co-located job of the map. */
const struct partner *tracker_partner(const struct occupancy_job *job);

/*
 * The lanes (LANE_BIT()) that a running job has of a node: the n-th of its node_bitmap. Where its
 * cores lie within a lane of either shape, `shape` decides. All stripes, where its cores are those
 * of no lane.
 */
uint32_t tracker_lanes_of(
	const job_record_t *job_ptr, int n, int node, int first_core, enum stripe_shape shape);

/* The shape that the node's co-located jobs have their lanes in, and that new ones get who do not
 * ask for one. */
enum stripe_shape tracker_shape(int node, const struct layout *layout);
