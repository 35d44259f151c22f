/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what slurmdbd has of a run: its rows there, and whether they show its price. */
#pragma once

#include <stdbool.h>

#include "accounting/record/settlement.h"

#include "run_snapshot.h"

/*
 * slurmdbd has one row for each size of each run of a job. Asking it waits for the network, for as
 * long as Slurm's own time-outs: hold none of Slurm's locks. Only the settler's worker asks.
 */

/*
 * The condition that selects this job in slurmdbd, for slurmdbd_rows_release(). Its lists point to
 * *step and to the run's cluster.
 */
void slurmdbd_rows_select(
	const struct run_snapshot *run, slurm_selected_step_t *step, slurmdb_job_cond_t *condition);
void slurmdbd_rows_release(slurmdb_job_cond_t *condition);

/*
 * The snapshot of a settled run: from its job record, or else from slurmdbd. 1 and *run, for
 * run_snapshot_free(); 0: nobody knows the run; -1: they cannot be asked now.
 */
int slurmdbd_rows_snapshot(const struct settlement *s, struct run_snapshot **run);

/* How many messages slurmctld has yet to send to slurmdbd; -1: not known. Once it is 0, slurmdbd
 * will never hear of what it has not heard of by then. */
int slurmdbd_rows_queue(void);

/*
 * Takes the state and the end of a run from slurmdbd into run->row. 1; 0: it does not know the run,
 * or its end; -1: it cannot be asked. all_told: slurmctld has nothing left to tell slurmdbd, so a
 * row without an end gets the end that the snapshot has.
 */
int slurmdbd_rows_read(struct run_snapshot *run, bool all_told);

/*
 * Takes the earlier sizes of a resized run from slurmdbd. 1; 0: it does not know all of them (yet),
 * or they are more than SETTLEMENT_MAX_SIZES; -1: it cannot be asked. To be called before the run
 * has a price: after that the rows show what is charged and not the raw billing.
 */
int slurmdbd_rows_read_sizes(struct run_snapshot *run);

/*
 * 1: the price (and the comment, if commented) is in the database; 0: it is not; -1: slurmdbd
 * cannot be asked.
 */
int slurmdbd_rows_check(const struct run_snapshot *run, const struct settlement *s, bool commented);
