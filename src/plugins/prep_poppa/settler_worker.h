/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settler's worker: takes each run from one state to the next (run_store.h draws them). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/nodeconf.h"

#include "settler_context.h"

#define ROUND_MS 250 /* between two rounds of the worker, at least */

/* Takes over what the previous worker has left in memory; poppa.conf may have changed since. */
void settler_worker_begin(struct settler *w, const struct nodeconf *host);

/*
 * Looks at everything that is due, once. May block: on slurmdbd, the ledger, a name server, a disk,
 * or for Slurm's locks. stopped(arg) is asked between two runs: if true, the round ends.
 */
void settler_worker_round(struct settler *w, bool (*stopped)(const void *arg), const void *arg);

/* When the next round is due if nothing arrives: CLOCK_MONOTONIC, ms. That round notices new
 * settings, and that this slurmctld is no longer in charge. */
int64_t settler_worker_next_ms(const struct settler *w);

/* Saves the runs that wait and forgets them: a later worker begins like a new process. */
void settler_worker_end(struct settler *w);
