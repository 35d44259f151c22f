/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for runs in slurmctld's records of jobs: unsettled ones, and those that have ended. */
#pragma once

#include <stdint.h>

#include "settler_context.h"

/* Both take the read lock on jobs, once for all runs, and wait for nothing under it. */

/*
 * Adds runs that an earlier slurmctld or a lost epilog has left unsettled. The first call that
 * finds slurmctld's records (it sets w->scanned) adds settled runs, too: slurmdbd may not have
 * heard of their price.
 */
void find_runs_unsettled(struct settler *w);

/* Sets ended_ms of each run that is due in RUN_ON_NODES and has left its nodes; delays the others.
 */
void find_runs_ended(struct settler *w, int64_t now_ms);
