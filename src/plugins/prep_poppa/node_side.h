/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What prep/poppa does inside slurmd: tells poppad about jobs and about slurm.conf. */
#pragma once

#include "plugins/compat/prep_compat.h"

/* Reads poppa.conf, makes RunDir, and starts the threads that publish RunDir/cluster.conf and look
 * for jobs that have left (node_watch.h). */
void node_side_start(void);
void node_side_stop(void);

/*
 * Writes RunDir/jobs/JOBID.RESTART for a co-located job; does nothing for others. cred may be NULL.
 * A failure is logged and the job runs on, unmeasured.
 */
void node_side_register(const job_env_t *job, slurm_cred_t *cred);

/* The job has left the node: renames its registration to JOBID.RESTART.ended. */
void node_side_end(const job_env_t *job);
