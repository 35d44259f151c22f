/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sees what jobs that have ended have left running on a node with cgroup v1. */
/*
 * With cgroup v1 a user may make a cgroup below a step's. Slurm before 23.11 does not kill what is
 * in there when the step ends: it waits for UnkillableStepTimeout, drains the node, and its
 * slurmstepd goes. What runs on takes from the jobs that are still there, and no table names it. So
 * the job's cgroup in the freezer is looked for: one with processes and without slurmstepd, in two
 * looks one after the other, is a leftover. The kernel's count of the processor time of all that
 * its user has on the node, less that of their jobs that do run, tells whether it works.
 * With cgroup v2 there is nothing to see: Slurm kills a job's cgroups as a whole.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/nodeconf.h"
#include "poppa/hold/find_tasks.h"

/* So many leftovers are known at a time. */
#define LEFTOVERS_MAX 64
/* Who works now and then could wait with it until others are measured; so a leftover that has
 * worked counts as working for some time. */
#define LEFTOVERS_REST_S 60

struct leftovers;

struct leftovers *leftovers_new(void);    /* NULL with ENOMEM */
void leftovers_free(struct leftovers *l); /* NULL is allowed */

/* Where to look. `ours` tells whether a user has a registered job, by which all of theirs is
 * watched already: such users are left out. */
struct leftovers_place {
	const char *mount, *node; /* as for find_tasks() */
	const struct nodeconf *conf;
	const struct find_tasks_meanwhile *meanwhile;
	bool (*ours)(void *arg, uid_t uid);
	void *arg;
};

/* Looks once, at `now` (CLOCK_MONOTONIC, ns), and logs each new leftover. Some seconds between two
 * looks are enough. What cannot be read is no leftover. */
void leftovers_look(struct leftovers *l, const struct leftovers_place *place, int64_t now);

/* The id of an ended job that works as of the last look; 0 = there is none. */
uint32_t leftovers_working(const struct leftovers *l, int64_t now);
