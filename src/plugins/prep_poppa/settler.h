/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What prep/poppa does inside slurmctld: settles each co-located job once its records are in. */
#ifndef POPPA_PLUGINS_PREP_SETTLER_H
#define POPPA_PLUGINS_PREP_SETTLER_H

#include "src/slurmctld/slurmctld.h"

/* Starts the worker thread, which first looks for finished jobs that were left unsettled. */
void settler_start(void);

/* Ends the worker within moments; what it had not settled is found again by settler_start(). */
void settler_stop(void);

/* Queues this run of a co-located job, passes over any other. The job write lock is held. */
void settler_queue(const job_record_t *job);

#endif
