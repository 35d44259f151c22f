/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops what a job has started since its processes were last listed. */
/*
 * Where the tasks of a job are stopped one by one, a task that it has just forked would run on
 * through a shutter. So when all known tasks are stopped, the stopping thread reads the job's
 * cgroups again and stops the tasks in them that are not known. A frozen cgroup needs none of this.
 * The main thread opens, closes and tells what is known; for the length of a block it is the
 * stopping thread's. The slots of the list of held things are taken when it is opened, so that
 * nothing is allocated in a block.
 */
#pragma once

#include <sys/types.h>

#include "common/nodeconf.h"
#include "poppa/hold/held.h"

#define NEW_TASKS_MAX 32 /* stopped in one shutter; with more, the next scan takes them up */
#define NEW_TASKS_LISTING (64 * 1024) /* bytes of a cgroup's list that are read, and its end */

struct new_tasks;

/* Nothing is watched and nobody known. NULL with errno: ENOMEM, or ENOSPC as pause_open_process().
 */
struct new_tasks *new_tasks_open(struct held_file *h);
void new_tasks_close(struct new_tasks *n); /* NULL is allowed */

/* The cgroups to look at, the processes that need no look, tasks or not, and who is a launcher, in
 * place of what was given before. All is copied: conf may change during a block. 0, or -1 with
 * ENOMEM and no change. Not during a block. */
int new_tasks_know(struct new_tasks *n, const struct nodeconf *conf, const char *const *dir,
	int dirs, const pid_t *pid, int pids);

/* For the stopping thread: both allocate nothing and take no lock. The first stops the new tasks
 * and returns how many they are; the second resumes them. */
int new_tasks_stop(struct new_tasks *n);
void new_tasks_resume(struct new_tasks *n);
