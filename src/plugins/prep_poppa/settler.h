/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What prep/poppa does inside slurmctld: settles each co-located job once its records are in. */
#pragma once

#include "src/slurmctld/slurmctld.h"

/* Starts the threads; the worker looks first for finished jobs that were left unsettled. */
void settler_start(void);

/*
 * Ends the threads within moments. Waits for them, 5 seconds at most, only where slurmctld ends: a
 * reconfiguration calls this with all of Slurm's locks, for which they may be waiting. What was not
 * settled is found again by settler_start(), of this process or the next.
 */
void settler_stop(void);

/* Hands this run of a co-located job to the worker, and of a plain one a few numbers. The job write
 * lock is held: waits for nothing but the association manager's read locks. */
void settler_queue(const job_record_t *job);
