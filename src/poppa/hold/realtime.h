/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives the calling thread a real-time priority, also where its cgroup forbids that. */
#pragma once

#include <stdbool.h>

/*
 * SCHED_FIFO for the calling thread, with this priority. Where the kernel is built with
 * CONFIG_RT_GROUP_SCHED and the process is in a cgroup of version 1 of the controller cpu, as
 * systemd's services are on many hosts, that cgroup has no real-time budget (cpu.rt_runtime_us is
 * 0). Then the thread alone is put into the root of that hierarchy, which is logged, and stays
 * there; systemd goes by another hierarchy. Nothing is moved where the priority is permitted as it
 * is, nor where the hierarchy has cpuset, memory or freezer, too. Returns true, or false with the
 * errno of sched_setscheduler(2).
 */
bool realtime_begin(int priority);

/* For tests: where the first such hierarchy is mounted, by a file as /proc/self/mounts. Returns
 * buf, or NULL where there is none, or it does not fit. */
char *realtime_cpu_mount(const char *mounts, char *buf, int size);
