/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes blocks of the rows of a shutter log, for shutterlog_read.c only. */
#pragma once

#include "poppa/estimate/shutterlog.h"

#define SHUTTERLOG_BUCKETS 1024

/* Starts as zeros, but for the first two members. */
struct shutterlog_blocks {
	shutterlog_block_fn block_fn;
	void *arg;
	int jobs;
	struct job_block *bucket[SHUTTERLOG_BUCKETS];
};

/* Adds a row to its job's block; value: duration, progress, cycles and lent time. Where the row
 * begins a block, delivers the job's last one. 0, the callback's value, or -1 with too many jobs.
 */
int shutterlog_blocks_row(struct shutterlog_blocks *r, uint64_t block, uint32_t job,
	enum shutter_region region, int k, uint64_t start_ns, const double *value);

/* At the end: delivers the blocks that are still open, oldest first. 0, or the callback's value. */
int shutterlog_blocks_rest(struct shutterlog_blocks *r);

void shutterlog_blocks_free(struct shutterlog_blocks *r);
