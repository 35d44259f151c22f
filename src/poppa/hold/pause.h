/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops and resumes the tasks of a job for the length of a shutter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "poppa/hold/held.h"

/* A process of more threads is stopped by signals to a few of them, which take all others with
 * them, each when it has its turn. */
#define PAUSE_SIGNALLED_THREADS 128

/* One thing that is stopped as a whole: a process (SIGSTOP) or a cgroup (freezer). */
struct pause_unit;

/* All three take an entry of the list of held things and return a unit (free with pause_close), or
 * NULL with errno. A process is named by pid and start time (proc.h), a cgroup by its directory. */
struct pause_unit *pause_open_process(struct held_file *h, pid_t pid, uint64_t starttime);
struct pause_unit *pause_open_freezer(struct held_file *h, enum held_kind kind, const char *dir);
/* A unit that has no process yet, see pause_adopt(). */
struct pause_unit *pause_open_spare(struct held_file *h);
void pause_close(struct pause_unit *u); /* NULL is allowed */

/*
 * The calls below, down to pause_resume(), allocate nothing and take no lock. pause_stop() arms the
 * entry first. It returns 0, or -1 with errno, and then nothing is stopped or armed: ESRCH the task
 * or cgroup is gone, EBUSY somebody else holds the cgroup frozen, ETIME the deadline has passed
 * (held_open()).
 */
int pause_stop(struct pause_unit *u);

/* Whether a stopped unit stands still: 1, 0 not yet, -1 with errno. A process counts at once. */
int pause_stands_still(struct pause_unit *u);

/* Whether somebody has stopped the process (state T, or t under a debugger); always false for a
 * cgroup, whose own state pause_stop() checks. Costs a read of /proc. */
bool pause_stopped(const struct pause_unit *u);

/* Gives a spare unit a process for one stop and resume; then pause_let_go() takes it away again.
 * 0, or -1 with errno (ESRCH; EBUSY: somebody has stopped it). */
int pause_adopt(struct pause_unit *u, pid_t pid);
void pause_let_go(struct pause_unit *u);

/* Resumes and disarms, unless the guard has done so already. With look, which costs a read of
 * /proc, it looks for a stop signal that somebody else sent in the meantime (a suspended job, a
 * user's Ctrl-Z), and sends it again after the resume. Returns whether there was one. */
bool pause_resume(struct pause_unit *u, bool look);

/*
 * From now on pause_meddled() tells of this unit, a cgroup, whether somebody else has written to
 * its freezer since pause_stop(): Slurm suspends and kills a job by the same file. pause_resume()
 * then does not thaw it, and returns true. The main thread calls the first, as nothing is stopped;
 * 0, or -1 with errno (ENOTSUP: a process; EMFILE: too many are watched). The kernel tells of both
 * as of one where somebody writes within microseconds of pause_stop().
 */
int pause_watch(struct pause_unit *u);
bool pause_meddled(struct pause_unit *u);

/*
 * Keeps an empty cgroup of v1 frozen below mount (cgroup.conf's CgroupMountpoint) while poppad
 * runs: when the first cgroup of a host freezes and when the last one thaws, the kernel changes its
 * own code and interrupts every processor, up to a millisecond for each shutter. Takes over the one
 * that a dead poppad of this node left. Does nothing where there is no such freezer.
 */
void pause_prepare(const char *mount, const char *node);
void pause_finish(void);
