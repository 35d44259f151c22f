/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives the calling thread a real-time priority, also where its cgroup forbids that. */
#pragma once

#include <stdbool.h>

/*
 * SCHED_FIFO for the calling thread, with this priority. Where the kernel is built with
 * CONFIG_RT_GROUP_SCHED and the process is in a cgroup of version 1 of the controller cpu, as
 * systemd's services are on many hosts, that cgroup has no real-time time (cpu.rt_runtime_us is 0),
 * so the thread alone is put into the root of that hierarchy; what follows services are other
 * hierarchies. Nothing is moved where the priority is permitted as it is. Returns true, or false
 * with errno: of the priority.
 */
bool realtime_begin(int priority);

/* For tests: where the first cgroup file system with the controller cpu is mounted, by a file such
 * as /proc/self/mounts. Returns buf, or NULL where there is none, or it does not fit. */
char *realtime_cpu_mount(const char *mounts, char *buf, int size);
