/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops what a job has started since its processes were last listed. */
/*
 * Of a job whose tasks are stopped one by one, those that it has just forked would run on through a
 * shutter. When all known ones stand still, its cgroups are read again: what is in them and not
 * known is stopped, too. A frozen cgroup needs nothing of the kind.
 */
#ifndef POPPA_HOLD_NEW_TASKS_H
#define POPPA_HOLD_NEW_TASKS_H

#include <sys/types.h>

#include "common/nodeconf.h"
#include "poppa/hold/held.h"

#define NEW_TASKS_MAX 32 /* stopped in one shutter; there are more where a scan is due anyway */
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

/* These two allocate nothing and take no lock. The first stops, and returns how many; the second
 * resumes them. */
int new_tasks_stop(struct new_tasks *n);
void new_tasks_resume(struct new_tasks *n);

#endif
