/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few facts about a process that poppad and its guard take from /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state; /* R, S, D, T (stopped), t (held by a debugger), Z ... */
	pid_t ppid, pgrp;
	int tty;            /* controlling terminal, 0 = none */
	uint64_t starttime; /* clock ticks since boot: with the pid it names one process for good */
	uint64_t cpu_ticks; /* processor time: its own and that of the children it has waited for */
};

/* Returns 0, or -1 with errno (ESRCH: no such process). */
int proc_stat(pid_t pid, struct proc_stat *out);

/* For a process or thread that is looked at often: a descriptor for proc_state(), or -1 with errno
 * (ESRCH: no such process). It stays that of this process, whoever has the number next. */
int proc_stat_open(pid_t pid);

/* The state of the thread, of a process its first one's, as in struct proc_stat; 0 when it is gone,
 * PROC_UNKNOWN when it cannot be read. One system call, which allocates nothing. */
#define PROC_UNKNOWN '?'
char proc_state(int fd);

/* The same from the text of /proc/PID/stat; -1 with EINVAL if it is none. */
int proc_stat_parse(const char *text, struct proc_stat *out);

/* Name of the executable file without its directory; of one that was removed, as it was called.
 * Returns 0, or -1 with errno (a kernel thread, or gone). */
int proc_exe(pid_t pid, char *buf, size_t size);

/*
 * A descriptor of exactly this process (starttime checked after opening), close-on-exec, or -1 with
 * errno (ESRCH: gone, or the pid belongs to another process by now).
 */
int proc_pidfd(pid_t pid, uint64_t starttime);

/* Sends a signal through a descriptor of proc_pidfd(). 0, or -1 with errno. */
int proc_signal(int pidfd, int sig);

/* The same for the first thread alone where the kernel can, so that proc_pending_stop() knows it.
 */
int proc_signal_own(int pidfd, int sig);

/* Whether a debugger or the like is attached to it. */
bool proc_traced(pid_t pid);

/*
 * Calls fn for each thread, from a descriptor of /proc/PID/task, until it returns other than 0.
 * Returns that, 0, or -1 with errno. Allocates nothing.
 */
typedef int (*proc_thread_fn)(pid_t tid, void *arg);
int proc_each_thread(int fd, proc_thread_fn fn, void *arg);

/*
 * A stop signal of somebody else's for a process that we have stopped, or 0: SIGCONT would wipe it
 * out. A process takes the signal that stops it off its pending ones, so what waits came later, or
 * came from us because the process was stopped already. Ours are for single threads; for the
 * process where that has one thread and the kernel is older than Linux 6.9, which cannot tell a
 * stop that comes while ours waits for the task to have a turn. status is its open
 * /proc/PID/status, or -1 to have it opened. Allocates nothing.
 */
int proc_pending_stop(pid_t pid, int status);

/* Text that is another one after each boot; returns buf. */
char *proc_boot_id(char *buf, size_t size);
