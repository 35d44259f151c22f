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

/* Writes what prices have told of pairs into their history, some seconds after the first of it or
 * now. A kill loses that much of the history, and no price. */
void price_to_ledger_save_pairs(struct settler *w, bool now);
