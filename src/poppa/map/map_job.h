/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves the threads of one job, which asked for it, to those of its own PUs where the mapper wants
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"
#include "poppa/map/map_source.h"

/*
 * map:auto (docs/mapping.md). Threads are moved within the job's own cpuset, never beyond, and only
 * where the whole job is unbound: each of its threads may use all of that cpuset. Who binds tasks
 * (--cpu-bind, MPI, OpenMP) knows why, so such a job is left alone as a whole, as long as that
 * holds.
 *
 * The paper binds threads and leaves them bound. Here a thread is moved and may run anywhere again
 * at once (affinity_move()): what it starts does not inherit one PU, programs that ask how many
 * they have are told the truth, and whatever ends poppad leaves nothing behind, but within that
 * moment. The kernel takes a running thread from its PU only to spread load, and there is a PU for
 * each; where it does, the next interval moves the thread again.
 */
struct map_job;

#define MAP_INTERVAL_MS 100 /* section 4.1 */
#define MAP_COUNT_MS 20     /* the part of it at its end in which counters run */

/* cores: how many its lanes have; a cpuset with more is no lane. conf and mount (CgroupMountpoint)
 * are the caller's and must stay valid. NULL where there is no memory. */
struct map_job *map_job_new(
	const struct nodeconf *conf, const char *mount, uint32_t job_id, uid_t uid, int cores);
void map_job_free(struct map_job *m); /* NULL is allowed */

/* To be called about once a second with the job's tasks: finds new threads, and whether somebody
 * has bound one. */
void map_job_look(struct map_job *m, const pid_t *process, int count);

/* Whether it is mapped now: else there is nothing to count. */
bool map_job_active(const struct map_job *m);

/* Finds the threads that run, and opens counters for them. A program that is being started can make
 * that wait, so nobody else is to wait for it. */
void map_job_prepare(struct map_job *m);

/* Lets these counters run. To be called right after that, where no block of a shutter is near for
 * MAP_COUNT_MS and some more: they take room in the PMU. */
void map_job_count(struct map_job *m);

/* Stops the counters; with `quiet`, which says that no block runs or is near, it also decides by
 * them and moves threads. */
void map_job_step(struct map_job *m, bool quiet);

/* For poppa status: how often a thread was moved, and why none is ("" where that is not so). */
uint64_t map_job_moves(const struct map_job *m);
const char *map_job_why(const struct map_job *m);

/* Whether MapSettings of poppa.conf can be used. Whether MapEvents can depends on the processor,
 * and is told for each job. 0, or -1 with err. */
int map_conf_check(const struct nodeconf *conf, struct errmsg *err);
