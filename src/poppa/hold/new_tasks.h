/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops what a job has started since its processes were last listed. */
/*
 * Where the tasks of a job are stopped one by one, a task that was just forked would run on through
 * a shutter. So when all known tasks are stopped, the stopping thread reads the job's cgroups again
 * and stops the tasks in them that are not known. A frozen cgroup needs none of this. The main
 * thread opens and closes it and tells what is known; during a block only the stopping thread uses
 * it. It takes its entries of the list of held things when it is opened, so that nothing is
 * allocated in a block.
 */
#pragma once

#include <sys/types.h>

#include "common/nodeconf.h"
#include "poppa/hold/held.h"

#define NEW_TASKS_MAX 32              /* stopped in one shutter; the next scan finds the others */
#define NEW_TASKS_LISTING (64 * 1024) /* bytes for the list of a cgroup; the rest is not read */

struct new_tasks;

/* Starts without cgroups and known processes. NULL with errno (ENOMEM, or ENOSPC: no free entry).
 */
struct new_tasks *new_tasks_open(struct held_file *h);
void new_tasks_close(struct new_tasks *n); /* NULL is allowed */

/* Replaces what was given before: the cgroups to look at, the known processes (tasks or not), and
 * in conf who is a launcher. All is copied: conf may change during a block. Not to be called during
 * a block. 0, or -1 with ENOMEM and no change. */
int new_tasks_know(struct new_tasks *n, const struct nodeconf *conf, const char *const *dir,
	int dirs, const pid_t *pid, int pids);

/* For the stopping thread; both allocate nothing and take no lock. The first stops the new tasks
 * and returns their number; the second resumes them. */
int new_tasks_stop(struct new_tasks *n);
void new_tasks_resume(struct new_tasks *n);
