/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the processor time of everything that is in a job's cgroups. */
/*
 * Whatever runs in a job's cgroups is the job, also what find_tasks() does not see: a process that
 * lives shorter than a scan, a cgroup that was made since, a program with a launcher's name. The
 * kernel adds all of it up in one file. cgroup v1 has this file only where Slurm makes cgroups of
 * cpuacct (JobAcctGatherType=jobacct_gather/cgroup); elsewhere the processes that the last scan has
 * found are added up, so many of them as a block has time for. Under v1 a user may also move what
 * runs into a cgroup that they have kept from an ended job, and so out of that file. But all of a
 * user's cgroups are below one that is root's, which has a file of the same kind: where none of the
 * user's jobs is to run, that one tells. The main thread opens and closes it and tells what is
 * known; during a block only the stopping thread uses it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "poppa/hold/find_tasks.h"

struct job_cpu;

/* To read the clock of another process takes a microsecond, and a block reads them three times. */
#define JOB_CPU_MAX_CLOCKS 512

struct job_cpu *job_cpu_open(void);    /* NULL with ENOMEM */
void job_cpu_close(struct job_cpu *c); /* NULL is allowed */

/* Whether job_cpu_know() would change nothing. */
bool job_cpu_knows(const struct job_cpu *c, const struct found_tasks *d);

/* Takes from a scan what is to be read. Not to be called during a block. 0, or -1 with ENOMEM and
 * nothing to read. */
int job_cpu_know(struct job_cpu *c, const struct found_tasks *d);

/* Whether no file tells the job's time, and it has more processes than are added up. */
bool job_cpu_misses(const struct job_cpu *c);

/* Processor time of the job so far, ns; -1 where no file tells it. */
int64_t job_cpu_total_ns(const struct job_cpu *c);
/* The same of all that has ever run in the user's cgroups of this node; -1 where no file tells it,
 * and under v2, where nobody can move anything out of a job. */
int64_t job_cpu_user_ns(const struct job_cpu *c);

/* For the stopping thread; both allocate nothing and take no lock. The second returns the processor
 * time since the first, ns, 0 where it is not known. *all becomes that with what has run of the
 * user's other jobs, ended ones among them. The kernel tells the time of what runs at this moment
 * as of its last tick, some ms ago. */
void job_cpu_note(struct job_cpu *c);
int64_t job_cpu_ran_ns(const struct job_cpu *c, int64_t *all);
