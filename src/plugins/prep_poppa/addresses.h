/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The addresses that a job's nodes may send their records from. */
#pragma once

#include <jansson.h>

#include "run_snapshot.h"

/*
 * JSON array of {"name","addresses":[...]} for the run's nodes, as origin_allowed() takes it: what
 * their NodeAddr and NodeHostname resolve to. A node whose names cannot be resolved now has an
 * empty list, and *all is false. May take seconds, and takes the read lock on nodes for a moment:
 * hold none of Slurm's locks. The settler's worker alone calls this. A new reference, or NULL.
 */
json_t *addresses_of(const struct run_snapshot *run, bool *all);

/* Forgets what was resolved. */
void addresses_forget(void);
