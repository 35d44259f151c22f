/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shutter log: CSV of everything a shutter read, one row a task and sub-window. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "common/errmsg.h"
#include "poppa/estimate/estimator.h"

#define SHUTTERLOG_FIELDS "block,job,task,region,k,start_ns,dur_ns,progress,cycles"
#define SHUTTERLOG_HEADER SHUTTERLOG_FIELDS ",lent_ns" /* the last one may be lacking */

enum shutter_region { SHUTTER_BEFORE, SHUTTER_DURING, SHUTTER_AFTER };
#define SHUTTER_REGIONS 3

/* As the log has it. */
const char *shutter_region_name(enum shutter_region r);

struct shutter_row {
	uint64_t block; /* shutter of this node; a job runs alone in every n-th one */
	uint32_t job;
	uint64_t task; /* any number that tells the tasks of a job apart, such as the pid */
	enum shutter_region region; /* during: only rows of the job that ran alone */
	int k;                      /* sub-window of the region, from 0 */
	uint64_t start_ns;          /* CLOCK_MONOTONIC */
	uint64_t dur_ns;
	uint64_t progress;
	uint64_t cycles;  /* 0 where the backend has none */
	uint64_t lent_ns; /* as in struct est_window */
};

struct shutterlog_writer;

/*
 * Opens path for appending, mode 0600; an empty file gets the header line. NULL with err on
 * failure. Close with shutterlog_close().
 */
struct shutterlog_writer *shutterlog_open(const char *path, struct errmsg *err);

/*
 * Buffered: no system call until 64 KiB are there or shutterlog_flush() is called, so call flush
 * between blocks only. A failed write is kept and reported by the next flush.
 */
void shutterlog_append(struct shutterlog_writer *w, const struct shutter_row *row);
/* 0, or -1 with err; the rows of a failed write are lost, the log goes on. */
int shutterlog_flush(struct shutterlog_writer *w, struct errmsg *err);
void shutterlog_close(struct shutterlog_writer *w); /* flushes; NULL is allowed */

/*
 * Gets each block in which the job ran alone, when the block is complete. Sums are over the job's
 * tasks; a sub-window that is missing, or in which not all of the block's tasks have a row, has
 * progress NAN and the time it took in dur_ns. A return above 0 stops the reading.
 */
typedef int (*shutterlog_block_fn)(
	uint32_t job, uint64_t block, const struct est_block *b, void *arg);

/* Gets each malformed row, which is then skipped: line number from 1, and what is wrong with it. */
typedef void (*shutterlog_bad_fn)(uint64_t line, const char *why, void *arg);

struct shutterlog_count {
	uint64_t rows; /* data rows, malformed ones included */
	uint64_t malformed;
};

/*
 * Reads a log to its end in constant memory a job. name is what err calls the log. Rows of several
 * jobs may be interleaved; those of one block and job must not be torn apart by another block of
 * that job. Returns 0; the callback's non-zero value; or -1 with err when the header is missing,
 * the file cannot be read, it holds more than SHUTTERLOG_MAX_JOBS jobs, or more than 1 % of its
 * rows are malformed (known at the end only: the blocks have been delivered then).
 */
int shutterlog_read(FILE *in, const char *name, shutterlog_block_fn block_fn,
	shutterlog_bad_fn bad_fn, void *arg, struct shutterlog_count *count, struct errmsg *err);

#define SHUTTERLOG_MAX_JOBS 65536
