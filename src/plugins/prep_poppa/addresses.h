/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The addresses that a job's nodes may send their records from. */
#ifndef POPPA_PLUGINS_PREP_ADDRESSES_H
#define POPPA_PLUGINS_PREP_ADDRESSES_H

#include <jansson.h>

#include "run_snapshot.h"

/*
 * JSON array of {"name","addresses":[...]} for the run's nodes, as origin_allowed() takes it: what
 * their NodeAddr and NodeHostname resolve to. A node whose names cannot be resolved now has no
 * addresses there. May take seconds and takes Slurm's node lock, so none may be held; for one
 * thread. A new reference, or NULL.
 */
json_t *addresses_of(const struct facts *f);

/* Forgets what was resolved. */
void addresses_forget(void);

#endif
