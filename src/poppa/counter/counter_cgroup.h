/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup that holds one task and nothing else: perf can count it on each processor. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct counter_cgroup {
	int fd;         /* the directory, for perf_event_open() */
	cpu_set_t cpus; /* the task cannot run anywhere else, whatever its affinity */
};

/* Opens the task's cgroup v2 if pid is the only process in it and below. 0 (the caller closes fd),
 * or -1 with errno ENODATA: the task has no cgroup of its own. */
int counter_cgroup_open(pid_t pid, struct counter_cgroup *out);

/* Whether the cgroup still holds pid alone, on the same processors as when it was opened. */
bool counter_cgroup_holds(const struct counter_cgroup *c, pid_t pid);

/* Reads a list such as "0-3,8". 0, or -1 if it is no list, empty, or beyond CPU_SETSIZE. */
int counter_cgroup_cpus(const char *list, cpu_set_t *out);
