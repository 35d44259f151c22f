/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks squeue why a job waits, and which jobs there are. */
#pragma once

#include "common/errmsg.h"

/* A job that waits, in texts that are safe to print. The caller frees id, which owns them all. */
struct squeue_job {
	char *id; /* as users write it: 12, 12_3, 12_[4-6] or 12+1 */
	const char *user, *account, *partition, *qos, *reason, *dependency, *name;
};

/* Reads a line of squeue's answer, which job->id owns on success. 0, or -1 with *job untouched
 * where it is no such line. */
int squeue_parse(char *line, struct squeue_job *job);

/*
 * Reads the first of the jobs with this id that have not started and that squeue shows the caller.
 * 0, or -1 with *job untouched where there is none or squeue does not answer.
 */
int squeue_waiting(const char *id, struct squeue_job *job);

/* A job that waits or runs, as squeue prints it: nothing is made plain. */
struct squeue_queued {
	unsigned int uid;
	const char *nodes, *system_comment, *name;
};

/* Reads a line of squeue's answer, to which the job's texts then belong. 0, or -1 where it is no
 * such line. */
int squeue_parse_queued(char *line, struct squeue_queued *job);

/*
 * Calls fn for the line of each job that squeue shows the caller, each of an array's its own: those
 * that run first, then those that wait by priority. fn returns 0, or -1 with err, which ends it.
 * Returns 0, or -1 with err, also where squeue does not answer.
 */
int squeue_each_queued(
	int (*fn)(char *line, void *arg, struct errmsg *err), void *arg, struct errmsg *err);
