/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job asks for, as Slurm has it. */
#ifndef POPPA_PLUGINS_JOB_SUBMIT_COLOCATE_JOB_REQUEST_H
#define POPPA_PLUGINS_JOB_SUBMIT_COLOCATE_JOB_REQUEST_H

#include "plugins/compat/slurm_compat.h"

#include "striping/submit/submission.h"

/* A count that Slurm leaves at 0 or NO_VAL where there is none: REQUEST_UNSET then. */
int64_t asked_number(uint32_t value);

/* An amount of memory, in MB, a node's or a CPU's. */
struct request_memory asked_memory(uint64_t value);

/* Adds what a descriptor states to what is already known of the job. */
void asked_by_desc(const job_desc_msg_t *d, struct request *r);

/* What a pending job asks for. Its CPUs per node are what the submission granted: not a wish. */
void asked_by_job(const job_record_t *job, struct request *r);

#endif
