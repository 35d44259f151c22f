/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a run's records to its price in the ledger. */
#pragma once

#include "settler_context.h"

/*
 * Asks the ledger for the run's records, and for its price if it has one. Once all records are in,
 * or it is too late, makes the price and puts it there. The ledger keeps the first price that it
 * gets for a run and answers with that, so two slurmctlds cannot give a run two prices. RUN_NEXT:
 * run->settlement is what the ledger has. Call this once the settings are in force (w->configured)
 * and the run's earlier sizes are known, without Slurm's locks: it waits for the network.
 */
enum outcome price_to_ledger(struct settler *w, struct run *run);

/* Enters plain runs that have ended into the history: whenever it is read anyway, else once a
 * minute at most. */
void price_to_ledger_plain_runs(struct settler *w);

/* The pair history with what waits to be written to it, which is written within that time, ms; NULL
 * where it cannot be read, which is logged. */
const struct pairs *price_to_ledger_history(struct settler *w, int64_t within_ms);

/* The history's class of a run or, with read locks on jobs and nodes, of a job; "" without it.
 * program: what it ran, "" = by what the history knows (may be NULL). false where only the job's
 * name tells. */
bool price_to_ledger_class_of_run(const struct settler *w, const struct pairs *known,
	const struct run_snapshot *run, const char *program, char *buf);
bool price_to_ledger_class_of_job(
	const struct settler *w, const struct pairs *known, const job_record_t *job, char *buf);

/* Writes what runs have told of pairs into their history, some seconds after the first of it or
 * now. A kill loses that much of the history, and no price. */
void price_to_ledger_save_pairs(struct settler *w, bool now);
