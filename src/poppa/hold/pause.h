/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops and resumes the tasks of a job for the length of a shutter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "poppa/hold/held.h"

/* One thing that is stopped as a whole: a process (SIGSTOP) or a cgroup (freezer). */
struct pause_unit;

/*
 * Both return a unit (free with pause_close) or NULL with errno. The process is named by pid and
 * start time (proc.h), the cgroup by its directory. They take a slot of the list of held things.
 */
struct pause_unit *pause_open_process(struct held_file *h, pid_t pid, uint64_t starttime);
struct pause_unit *pause_open_freezer(struct held_file *h, enum held_kind kind, const char *dir);
/* One without a process as yet; pause_open_process() in two steps. */
struct pause_unit *pause_open_spare(struct held_file *h);
void pause_close(struct pause_unit *u); /* NULL is allowed */

/*
 * The calls below allocate nothing and take no lock. pause_stop() arms the slot first. It returns
 * 0, or -1 with errno: ESRCH the task or cgroup is gone, EBUSY somebody else holds the cgroup
 * frozen, ETIME the deadline has passed (held_open()); nothing is stopped or armed then.
 */
int pause_stop(struct pause_unit *u);

/* Whether a stopped unit stands still: 1, 0 not yet, -1 with errno. A process counts at once. */
int pause_settled(struct pause_unit *u);

/*
 * Processor time that the process has used, ns: while it is stopped it uses none, and while it runs
 * the kernel tells it as of its last tick. 0 where it has ended, and for a cgroup, which only who
 * may write to its switch sets going.
 */
int64_t pause_ran_ns(const struct pause_unit *u);

/* Whether somebody has stopped the process (state T, or t under a debugger); always false for a
 * cgroup, whose own state pause_stop() checks. Costs a read of /proc. */
bool pause_stopped(const struct pause_unit *u);

/*
 * Gives a spare unit a process for one stop and resume, after which pause_let_go() takes it off
 * again. 0, or -1 with errno (ESRCH).
 */
int pause_adopt(struct pause_unit *u, pid_t pid);
void pause_let_go(struct pause_unit *u);

/*
 * Resumes and disarms, unless the guard has done so already. A stop signal that somebody else sent
 * in the meantime (a suspended job, a user's Ctrl-Z) is given back after the resume; with look,
 * which costs a read of /proc, it is looked for. Returns whether there was one.
 */
bool pause_resume(struct pause_unit *u, bool look);

/*
 * With cgroup v1 the first frozen cgroup of a host has the kernel change its own code, with an
 * interrupt to every processor, and the last one that thaws has it changed back: up to a
 * millisecond for each shutter. Keeps an empty cgroup frozen below mount (cgroup.conf's
 * CgroupMountpoint) for as long as poppad runs; does nothing where there is no such freezer. One
 * that a dead poppad of this node left is taken over.
 */
void pause_prepare(const char *mount, const char *node);
void pause_finish(void);
