/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads facts about processes from /proc and sends them signals. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state;    /* R, S, D, T (stopped), t (held by a debugger), Z ... */
	bool headless; /* its first thread has ended; the state is that of another one, which runs
			  on */
	pid_t ppid, pgrp;
	int tty; /* controlling terminal, 0 = none */
	int threads;
	uint64_t starttime; /* clock ticks since boot: with the pid it names exactly one process */
	uint64_t cpu_ticks; /* processor time of its own and of the children it has waited for */
	uint64_t own_ticks; /* of its own only */
	int pu;             /* on which it ran last; -1 = not told */
};

/* Returns 0, or -1 with errno (ESRCH: no such process). */
int proc_stat(pid_t pid, struct proc_stat *out);

/* Opens a descriptor for proc_state() of a process or thread that is looked at often, or returns -1
 * with errno (ESRCH: no such process). It never names another process that gets the number later.
 */
int proc_stat_open(pid_t pid);

/* The same for one thread of a process. */
int proc_thread_open(pid_t pid, pid_t tid);

/* As proc_stat(), of what proc_thread_open() has opened, so of that thread alone. 0, or -1 with
 * errno (ESRCH: it has ended). */
int proc_stat_read(int fd, struct proc_stat *out);

/* The state of the thread (of a process, that of its first thread) as in struct proc_stat; 0 when
 * it is gone, PROC_UNKNOWN when it cannot be read. One system call, which allocates nothing. */
#define PROC_UNKNOWN '?'
char proc_state(int fd);

/* As proc_stat(), from the text of /proc/PID/stat; -1 with EINVAL for any other text. */
int proc_stat_parse(const char *text, struct proc_stat *out);

/* For how long the first thread of a process had a processor, and for how long it could run and had
 * none, ns. Returns 0, or -1 where the process is gone or the kernel does not tell. */
int proc_waited(pid_t pid, uint64_t *ran_ns, uint64_t *waited_ns);

/* The process' real user; (uid_t)-1 where it cannot be read. */
uid_t proc_uid(pid_t pid);

/* Writes the name of the executable file without its directory, also where the file was removed or
 * the first thread has ended; "?" where its path is too long for the kernel to tell. Returns 0, or
 * -1 with errno (a kernel thread, or gone). */
int proc_exe(pid_t pid, char *buf, size_t size);

/* A descriptor of exactly this process (starttime checked after opening), close-on-exec, or -1 with
 * errno (ESRCH: the process is gone, or the pid now belongs to another). */
int proc_pidfd(pid_t pid, uint64_t starttime);

/* Sends a signal through a descriptor of proc_pidfd(). 0, or -1 with errno. */
int proc_signal(int pidfd, int sig);

/* The same for the first thread alone where the kernel can do that, so that proc_pending_stop() can
 * tell this signal from somebody else's. */
int proc_signal_own(int pidfd, int sig);

/* Whether the path of one of the process's cgroups ends with this. Allocates nothing. */
bool proc_in_cgroup(pid_t pid, const char *end);

/* Whether a debugger or another tracer is attached to the process. */
bool proc_traced(pid_t pid);

/* Calls fn for each thread in /proc/PID/task, which fd is open on, until fn does not return 0.
 * Returns what fn returned last, or -1 with errno. Allocates nothing. */
typedef int (*proc_thread_fn)(pid_t tid, void *arg);
int proc_each_thread(int fd, proc_thread_fn fn, void *arg);

/*
 * The stop signal that somebody else has sent to a process that we have stopped, or 0. SIGCONT
 * would delete it. The signal that stops a process is no longer pending, so a pending one came
 * later, or it is ours and the process was stopped already. Ours go to single threads. Before Linux
 * 6.9 ours goes to the whole process where that has one thread: then a stop of somebody else is not
 * seen while ours waits until the task has a turn. status is the open /proc/PID/status, or -1 to
 * open it here. Allocates nothing.
 */
int proc_pending_stop(pid_t pid, int status);

/* Whether a signal with which people or Slurm end, suspend or tell a process something waits for
 * it. One that its first thread blocks does not count, nor does SIGSTOP, which may be ours.
 * Allocates nothing. */
bool proc_signalled(pid_t pid);

/* Writes the id of this boot, which each boot changes; "" where it cannot be read. Returns buf. */
char *proc_boot_id(char *buf, size_t size);
