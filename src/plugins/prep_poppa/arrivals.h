/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands runs that have ended from Slurm's threads to the settler's worker, across a crash, too. */
#pragma once

#include <stdbool.h>

#include "striping/history/plain_queue.h"

#include "run_store.h"

/*
 * When a run ends in a requeue, only its arrival tells of it: the job's record is already about the
 * next run. So a shutdown of slurmctld is held (controller.h) until the worker has taken all
 * arrivals and has written them to poppa_unsettled. Where the worker leaves arrivals for a while,
 * because it waits for the ledger or slurmdbd, the keeper writes them to poppa_arrived.
 *
 * A kill -9 loses such a run only before it is in one of the files, within a quarter of a second or
 * so. A run that is in both files is taken once.
 *
 * Two locks, both of this module: the list's, which nobody holds while waiting for anything, so
 * that arrivals_add() may be called under Slurm's job write lock; and the file's, which is taken
 * before the list's and held while the file is read, written or removed.
 */

/* Adds a run and takes it over; waits for nothing. */
void arrivals_add(struct run *run);

/* All runs, linked by next: the caller's now. */
struct run *arrivals_take(void);

/*
 * The same for a plain run, of which a few are kept in memory only (plain_queue.h), and nobody is
 * woken for them. They are experience, which may be lost.
 */
void arrivals_add_plain(const struct spread_run *run);
int arrivals_take_plain(struct plain_run run[PLAIN_QUEUE_OF_SLOT]);

struct arrivals_status {
	bool any;     /* runs are there to be taken */
	bool unsaved; /* the file lacks one of them */
	bool holding; /* slurmctld is held for what has arrived, taken or not */
};
struct arrivals_status arrivals_status(void);

/* Writes the file; a failure is logged once. slurmctld is held by the caller. */
void arrivals_save(void);

/*
 * For the worker. Loads both files into the store, unless that was done. From then on the store has
 * what the file has, until arrivals_unload(): the files may be another slurmctld's after that.
 */
void arrivals_load(struct run_store *store);
void arrivals_unload(struct run_store *store);

/* Removes poppa_arrived once poppa_unsettled has all that was taken, unless more has arrived. */
void arrivals_drop_file(void);

/* Lets slurmctld end once nothing waits to be taken and all that was taken is saved, or anyway. */
void arrivals_let_end(bool saved, bool anyway);
