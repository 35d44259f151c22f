/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shutter log: CSV of everything that shutters read, a row for each task and window. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "common/errmsg.h"
#include "poppa/estimate/estimator.h"

#define SHUTTERLOG_FIELDS "block,job,task,region,k,start_ns,dur_ns,progress,cycles"
#define SHUTTERLOG_HEADER SHUTTERLOG_FIELDS ",lent_ns" /* older logs lack the last field */
/* What the estimator of a job believes at first: "# prior,JOB,NONE,NARROW,WIDE", a line between the
 * rows, before those of the job's first block. Without it: slow_prior_default. */
#define SHUTTERLOG_PRIOR "# prior,"

/* The last one goes on where the second ends, in a long block (struct est_block). */
enum shutter_region { SHUTTER_BEFORE, SHUTTER_DURING, SHUTTER_AFTER, SHUTTER_BEYOND };
#define SHUTTER_REGIONS 3 /* that every block has */
#define SHUTTERLOG_REGIONS 4

/* The name in the log. */
const char *shutter_region_name(enum shutter_region r);

struct shutter_row {
	uint64_t block; /* shutter of this node; a job runs alone in every n-th one */
	uint32_t job;
	uint64_t task; /* any number that tells the tasks of a job apart, such as the pid */
	enum shutter_region region; /* during, beyond: only rows of the job that ran alone */
	int k;                      /* window of the region, from 0 */
	uint64_t start_ns;          /* CLOCK_MONOTONIC */
	uint64_t dur_ns;
	uint64_t progress;
	uint64_t cycles;  /* 0 where the backend has none */
	uint64_t lent_ns; /* as in struct est_window */
};

struct shutterlog_writer;

/* Opens path for appending, mode 0600; an empty file gets the header line. NULL with err. The
 * caller closes it with shutterlog_close(). */
struct shutterlog_writer *shutterlog_open(const char *path, struct errmsg *err);

/* Buffers the prior of a job, unless the log has it: it remembers the last SHUTTERLOG_KNOWN jobs.
 * Of one job id, the first prior counts. */
#define SHUTTERLOG_KNOWN 64
void shutterlog_prior(struct shutterlog_writer *w, uint32_t job, const struct slow_prior *prior);

/* Buffers the row: it makes no system call until there are 64 KiB. So call shutterlog_flush()
 * between blocks only. The next flush reports a write that failed. */
void shutterlog_append(struct shutterlog_writer *w, const struct shutter_row *row);
/* 0, or -1 with err: the rows of a failed write are lost, and the log goes on. */
int shutterlog_flush(struct shutterlog_writer *w, struct errmsg *err);
void shutterlog_close(struct shutterlog_writer *w); /* flushes; NULL is allowed */

/*
 * Gets each complete block in which the job ran alone, summed over the job's tasks. A window that
 * is missing, or in which not all of the block's tasks have a row, has progress NAN and still its
 * dur_ns. The reading stops where the function returns more than 0.
 */
typedef int (*shutterlog_block_fn)(
	uint32_t job, uint64_t block, const struct est_block *b, void *arg);

/* Gets the prior of a job, before the job's first block; where there is none, it is not called. */
typedef void (*shutterlog_prior_fn)(uint32_t job, const struct slow_prior *prior, void *arg);

/* Gets the line number (from 1) of each malformed row, which is skipped, and what is wrong. */
typedef void (*shutterlog_bad_fn)(uint64_t line, const char *why, void *arg);

struct shutterlog_count {
	uint64_t rows; /* data rows, malformed ones included */
	uint64_t malformed;
};

/*
 * Reads a log to its end, in constant memory for each job. err calls the log `name`. The rows of
 * several jobs may be mixed, but between those of one block of a job there must be none of another
 * block of that job. prior_fn and bad_fn may be NULL. Returns 0; the callback's non-zero value; or
 * -1 with err where the header is missing, the file cannot be read, it has more than
 * SHUTTERLOG_MAX_JOBS jobs, a prior is malformed (other estimates than poppad's would follow), or
 * more than 1 % of its rows are (which is known only at the end, after all blocks).
 */
int shutterlog_read(FILE *in, const char *name, shutterlog_block_fn block_fn,
	shutterlog_prior_fn prior_fn, shutterlog_bad_fn bad_fn, void *arg,
	struct shutterlog_count *count, struct errmsg *err);

#define SHUTTERLOG_MAX_JOBS 65536
