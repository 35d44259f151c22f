/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells through open files of /proc whether a thread has run, and where it waits. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* A thread and its open files; looking at it allocates nothing once it was looked at before. */
struct proc_watch {
	pid_t tid;
	int stat, schedstat, call;
};

/* Opens what there is of a thread (a pid names the first one of its process). What it has not, or
 * may not be read, is not known by the looks below. */
void proc_watch_open(struct proc_watch *w, pid_t tid);
void proc_watch_close(struct proc_watch *w);

/*
 * Processor time that the thread has had, in ns; 0 where it runs, so that this cannot be told
 * exactly, where it is gone, or where the kernel keeps no such statistics. The state is read first:
 * who begins to run later is found by the next look.
 */
uint64_t proc_watch_ran(const struct proc_watch *w);

/* Number of the system call that the thread waits in or is on its way back from; -1 where it is in
 * none, runs, is held by a debugger, or is gone. */
long proc_watch_call(const struct proc_watch *w);
