/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The addresses that a job's nodes may send their records from. */
#pragma once

#include "accounting/record/client.h"
#include "run_snapshot.h"

/*
 * The question to the ledger for the run's records. Its .nodes is a JSON array of
 * {"name","addresses":[...]} for the run's nodes, as origin_allowed() takes it: what their NodeAddr
 * and NodeHostname resolve to. A node whose names cannot be resolved now has an empty list, and
 * *all is false. May take seconds, and takes the read lock on nodes for a moment: hold none of
 * Slurm's locks. The settler's worker alone calls this. The caller owns .nodes, a new reference or
 * NULL; the texts are the run's.
 */
struct client_run addresses_question(const struct run_snapshot *run, bool *all);

/* Forgets what was resolved. */
void addresses_forget(void);
