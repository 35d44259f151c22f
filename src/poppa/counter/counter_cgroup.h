/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup that holds one task and nothing else, by which processors can be counted for it. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct counter_cgroup {
	int fd;         /* the directory, for perf_event_open() */
	cpu_set_t cpus; /* the task cannot run anywhere else, whatever its affinity */
};

/*
 * The task's cgroup v2, if pid is the only process there and below. 0 (close fd), or -1 with errno;
 * ENODATA: it has none of its own.
 */
int counter_cgroup_open(pid_t pid, struct counter_cgroup *out);

/* Whether it holds yet what counter_cgroup_open() asked for, on the same processors. */
bool counter_cgroup_holds(const struct counter_cgroup *c, pid_t pid);

/* Reads a list such as "0-3,8". 0, or -1 if it is none, empty, or beyond CPU_SETSIZE. */
int counter_cgroup_cpus(const char *list, cpu_set_t *out);
