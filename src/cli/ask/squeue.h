/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks squeue why a job waits. */
#pragma once

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
