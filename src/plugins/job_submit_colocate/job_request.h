/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translates what a job asks for from Slurm's structures. */
#pragma once

#include "plugins/compat/slurm_compat.h"

#include "striping/submit/submission.h"

/* A count that Slurm leaves at 0 or NO_VAL where there is none: SUBMISSION_UNSET then. */
int64_t job_request_number(uint32_t value);

/* An amount of memory in MB, of a node or of a CPU. */
struct submission_memory job_request_memory(uint64_t value);

/* Adds what a descriptor states to what is already known of the job. */
void job_request_of_desc(const job_desc_msg_t *d, struct submission *r);

/* What a pending job asks for. Its CPUs per node are left out: its submission has set them. */
void job_request_of_job(const job_record_t *job, struct submission *r);
