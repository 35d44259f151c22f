/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for runs: in slurmctld's records of jobs unsettled ones, and those that have ended; in the
 * ledger those whose prices administrators have changed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "settler_context.h"

/* These two take the read lock on jobs, once for all runs, and wait for nothing under it. */

/*
 * Adds runs that an earlier slurmctld or a lost epilog has left unsettled. The first call that
 * finds slurmctld's records (it sets w->scanned) adds settled runs, too: slurmdbd may not have
 * heard of their price.
 */
void find_runs_unsettled(struct settler *w);

/* Sets ended_ms of each run that is due in RUN_ON_NODES and has left its nodes; delays the others.
 */
void find_runs_ended(struct settler *w, int64_t now_ms);

/*
 * The ledger keeps a changed price until Slurm shows it, and whether somebody has begun to write
 * it. So the state file needs none of them: after a kill they are found again. The refunds' journal
 * tells what was refunded or, where that is lost, whether somebody has begun.
 */

/* When to look again, CLOCK_MONOTONIC, ms. */
int64_t find_runs_changed_due_ms(const struct settler *w);

/* Adds a run (RUN_REPRICED) for each changed price, if it is time. Waits for the ledger and
 * slurmdbd; none of Slurm's locks is held. */
void find_runs_changed(struct settler *w, int64_t now_ms);

/* Tells the ledger that Slurm shows a change everywhere; false where it did not answer. */
bool find_runs_end_change(struct settler *w, const struct settlement *price);
