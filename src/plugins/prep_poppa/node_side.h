/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What prep/poppa does inside slurmd: tells poppad about jobs and about slurm.conf. */
#ifndef POPPA_PLUGINS_PREP_NODE_SIDE_H
#define POPPA_PLUGINS_PREP_NODE_SIDE_H

#include "plugins/compat/prep_compat.h"

/* Reads poppa.conf, makes RunDir and starts the thread that publishes RunDir/cluster.conf. */
void node_side_start(void);
void node_side_stop(void);

/*
 * Writes RunDir/jobs/JOBID.RESTART for a co-located job, passes over any other. cred may be NULL.
 * A failure is logged and the job runs on, unmeasured.
 */
void node_side_register(const job_env_t *job, slurm_cred_t *cred);

/* The job has left the node: renames its registration to JOBID.RESTART.ended. */
void node_side_end(const job_env_t *job);

#endif
