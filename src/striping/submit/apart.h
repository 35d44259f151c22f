/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From whom a job was parted because its max-degradation could not be kept: kept as text in its
 * SystemComment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tag of the part of SystemComment (common/tags.h). Slurm keeps that over a requeue and a restart
 * of slurmctld, and no user can write it. */
#define APART_TAG "poppa-apart"
/* A job leaves its co-runners so often at most. */
#define APART_MOST 2
/* So many of them are remembered, the last ones. */
#define APART_JOBS 8
/* Room for apart_format(). */
#define APART_TEXT_MAX 160

/* Begins as zero: it has left nobody. */
struct apart {
	uint32_t times;   /* how often it was requeued for that */
	uint32_t restart; /* the run that ended so, the last time */
	int count;
	uint32_t job[APART_JOBS];
};

/* Notes that this run of the job has left these co-runners. */
void apart_add(struct apart *a, uint32_t restart, const uint32_t *job, int count);

/* Whether it has left this job. */
bool apart_from(const struct apart *a, uint32_t job);

/* Returns buf, of APART_TEXT_MAX bytes. */
char *apart_format(const struct apart *a, char *buf);

/* 0, or -1 where the text (NULL: none) is none that apart_format() has written: then *a is zero. */
int apart_parse(const char *text, struct apart *a);

/* The same from the part of a SystemComment (NULL: none); *a is zero where it has none. */
void apart_read(const char *comment, struct apart *a);
