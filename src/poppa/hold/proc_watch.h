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

/* Opens the files of a thread (a pid names the first thread of its process). The functions below
 * report what a missing file would tell as not known. */
void proc_watch_open(struct proc_watch *w, pid_t tid);
void proc_watch_close(struct proc_watch *w);

/* Processor time that the thread has used, in ns. 0 where it is not known: the thread runs just now
 * or is gone, or the kernel keeps no such statistics. The state is read first: the next look finds
 * a thread that begins to run after that. */
uint64_t proc_watch_ran(const struct proc_watch *w);

/* Number of the system call that the thread waits in or is returning from; -1 where it is in none,
 * runs, is held by a debugger, or is gone. */
long proc_watch_call(const struct proc_watch *w);
