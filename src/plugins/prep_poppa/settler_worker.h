/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settler's worker: takes each run from one state to the next (run_store.h draws them). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/nodeconf.h"

#include "settler_context.h"

#define ROUND_MS 250 /* between two rounds of the worker, at least */

/* Goes on with what the worker before has left in memory; poppa.conf may be another. */
void settler_worker_begin(struct settler *w, const struct nodeconf *conf);

/*
 * Looks at everything that is due, once. May block: on slurmdbd, the ledger, a name server, a disk,
 * or for Slurm's locks. stopped(arg) is asked between two runs: if true, the round ends.
 */
void settler_worker_round(struct settler *w, bool (*stopped)(const void *arg), const void *arg);

/* When something is to be done next, if nothing arrives: CLOCK_MONOTONIC, ms. New settings, and
 * that this slurmctld is in charge no longer, are noticed then at the latest. */
int64_t settler_worker_next_ms(const struct settler *w);

/* Saves what waits and forgets all of it: what follows begins like a new process. */
void settler_worker_end(struct settler *w);
