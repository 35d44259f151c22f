/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sees what jobs that have ended have left running on a node with cgroup v1. */
/*
 * With cgroup v1 and Slurm before 23.11 a user may make a cgroup below a step's. Slurm ends only
 * what is in its own cgroups. What is below runs on after the job's end, and often Slurm does not
 * say so. It takes from the jobs that are still there, and the table does not have it. So this
 * looks at the jobs' cgroups in the freezer. A job that runs has a slurmstepd in its own cgroup,
 * which is root's, beside those of its steps. A job with processes and without a slurmstepd has
 * left something. Whether that works is told by the processor time of all that its user has on the
 * node, less that of their jobs that run. State is kept for a user and not for a job: what was left
 * may go from one cgroup of its user to another. With cgroup v2 there is nothing to see: Slurm
 * kills a job's cgroups as a whole.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* So many users with leftovers are known at a time. */
#define LEFTOVERS_MAX 64
/* What has worked counts as working for so long, and is remembered for so long: else it could work
 * only while others are measured. */
#define LEFTOVERS_REST_S 60
/* After so many of a job's cgroups it is taken for one with processes. */
#define LEFTOVERS_DIRS 4096

struct leftovers;

struct leftovers *leftovers_new(void);    /* NULL with ENOMEM */
void leftovers_free(struct leftovers *l); /* NULL is allowed */

/* Where to look. `ours` tells whether the table has this job of a user, or any job of theirs where
 * job_id is 0: by that one all of the user's time is watched already, where the kernel counts it.
 */
struct leftovers_place {
	const char *mount, *node; /* as for find_tasks() */
	double works;             /* what uses more of a processor works */
	bool (*ours)(void *arg, uid_t uid, uint32_t job_id);
	void *arg;
};

/* Looks once, at `now` (CLOCK_MONOTONIC, ns), and logs leftovers when they are new, and each hour
 * again. Some seconds between two looks are enough. Where the kernel does not count a user's time,
 * a leftover counts as working as long as it is there. */
void leftovers_look(struct leftovers *l, const struct leftovers_place *place, int64_t now);

/* The id of an ended job that works as of the last look; 0 = there is none. */
uint32_t leftovers_working(const struct leftovers *l, int64_t now);
