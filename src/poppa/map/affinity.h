/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a user's threads run and may run, and how to move one with no more right than that user
 * has.
 */
#pragma once

#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include "mapper/mapper.h"

/*
 * Moves a thread to a PU, and lets it run on all of its cpuset again: it stays where it is until
 * the kernel spreads load. A thread or process that it makes in the microseconds between may run on
 * that PU only, and then counts as bound by its user.
 *
 * The number of a thread that has ended may soon be another one's, of any user, and the kernel has
 * no handle of a thread that sched_setaffinity() takes. So it is called with the effective user id
 * of the job's user: then the kernel itself refuses threads of others, whatever a user does with
 * numbers, and cpusets keep those of the user's other jobs where they are. For that moment the
 * calling thread has no capabilities in effect; they stay permitted, without which the user could
 * change its priority and PUs. Its real and saved user ids stay root's, so the user can neither
 * signal nor trace it.
 *
 * Returns 0, or -1 with errno. ESRCH: it has ended; EPERM: it is another user's; EINVAL: its cpuset
 * does not have that PU; ENOTSUP: this process may not take on user ids (CAP_SETUID).
 */
int affinity_move(pid_t tid, uid_t uid, int pu);

/* The PUs on which a thread may run. 0, or -1 with errno. */
int affinity_get(pid_t tid, cpu_set_t *out);

/* The PUs of the cpuset of a process's cgroup; mount is CgroupMountpoint, of cgroup v1 or v2. 0, or
 * -1 with errno (ESRCH: the process has ended). */
int affinity_cpuset(const char *mount, pid_t pid, cpu_set_t *out);

/* Writes what the kernel tells of these PUs to out, in the order that mapper_create() wants. sys:
 * "/sys", or what stands for it in tests; out: of MAPPER_PUS_MAX. Returns how many, or -1 with
 * errno. */
int affinity_topology(const char *sys, const cpu_set_t *pus, struct mapper_pu *out);
