/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run of a job used, as far as Slurm's accounting has it. */
#pragma once

#include <stdint.h>

#include "accounting/bill/bill.h"
#include "common/errmsg.h"

/* What is not known is NAN, 0 or "". */
struct job_usage {
	double cpu_s;  /* processor time of all its steps; NAN too while it runs */
	double rss;    /* bytes of memory of its largest task */
	char step[16]; /* the step of that task, such as "0" or "batch" */
	int64_t tasks; /* how many that step has */
	double mem;    /* bytes of memory that it was given, or asked for, on all its nodes */
	int64_t limit_s;
	char nodes[256]; /* as Slurm writes lists of nodes */
};

/*
 * Asks sacct about the run b; job is what it calls the job. Returns 0; or -1 with err where sacct
 * does not answer, and nothing is known.
 */
int job_usage_ask(const char *job, const struct bill *b, struct job_usage *u, struct errmsg *err);
