/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sees what jobs that have ended have left running on a node with cgroup v1. */
/*
 * With cgroup v1 and Slurm before 23.11 a user may make a cgroup below a step's. Slurm looks only
 * at its own: what is below outlives the job, mostly without a word of Slurm's. It takes from the
 * jobs that are still there, and no table names it. So the jobs' cgroups in the freezer are looked
 * at. A job that runs has a slurmstepd in its own cgroup, which is root's, beside those of its
 * steps. One with processes and without it has left something. The kernel's count of the processor
 * time of all that its user has on the node, less that of their jobs that run, tells whether it
 * works. State is kept for a user and not for a job, as what was left may go from one cgroup of
 * theirs to another. With cgroup v2 there is nothing to see: Slurm kills a job's cgroups as a
 * whole.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* So many users with leftovers are known at a time. */
#define LEFTOVERS_MAX 64
/* Who works now and then could wait with it until others are measured; so what has worked counts as
 * working for some time, and is remembered for as long. */
#define LEFTOVERS_REST_S 60
/* After so many of a job's cgroups it is taken for one with processes. */
#define LEFTOVERS_DIRS 4096

struct leftovers;

struct leftovers *leftovers_new(void);    /* NULL with ENOMEM */
void leftovers_free(struct leftovers *l); /* NULL is allowed */

/* Where to look. `ours` tells whether the table has this job of a user, or any where job_id is 0:
 * where the kernel counts a user's time, all of theirs is watched by the table's job already. */
struct leftovers_place {
	const char *mount, *node; /* as for find_tasks() */
	bool (*ours)(void *arg, uid_t uid, uint32_t job_id);
	void *arg;
};

/* Looks once, at `now` (CLOCK_MONOTONIC, ns), and logs leftovers: new ones, and each hour. Some
 * seconds between two looks are enough. Without the kernel's count a leftover works as long as it
 * is there.
 */
void leftovers_look(struct leftovers *l, const struct leftovers_place *place, int64_t now);

/* The id of an ended job that works as of the last look; 0 = there is none. */
uint32_t leftovers_working(const struct leftovers *l, int64_t now);
