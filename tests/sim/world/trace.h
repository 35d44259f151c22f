/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a trace of jobs in the Standard Workload Format, plain or compressed by gzip. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"

/* A job as the trace has it; -1 is what the trace does not know (Chapin et al. 1999, version 2.2).
 */
struct trace_job {
	long number;
	double submit_s; /* since the trace's begin */
	double run_s;
	double asked_s; /* the time limit */
	int processors; /* allocated; where that is unknown, asked for */
	int user, program;
};

struct trace {
	struct trace_job *job; /* by time of submission */
	int count;
	int left_out;   /* lines of jobs that never ran or have no size */
	int processors; /* of the machine: the header's MaxProcs, else the biggest job */
};

/*
 * Reads the first `most` jobs that ran (0: all). Returns 0, or -1 with err that names the file, the
 * line and the fix. trace_free() frees what is in *t.
 */
int trace_read(const char *path, int most, struct trace *t, struct errmsg *err);
void trace_free(struct trace *t);

/* Whether this build reads compressed traces. */
bool trace_reads_gzip(void);
