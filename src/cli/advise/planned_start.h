/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When sbatch expects a job to start. */
#pragma once

#include <stdint.h>

#include "cli/advise/sbatch_job.h"

struct planned_start {
	int64_t at;        /* seconds since 1970; 0 = not known */
	struct errmsg why; /* it is not known */
};

/* Asks "sbatch --test-only", which submits nothing, for the job with --colocate, or without it. It
 * has 15 s. */
void planned_start_ask(const struct sbatch_job *job, bool colocated, struct planned_start *start);
