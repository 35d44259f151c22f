/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time limits that count progress, by the shipped computation. */
#pragma once

#include "sim/sim.h"

/* How often slurmctld looks at what running jobs have lost, seconds. */
#define LIMITS_EVERY_S 10

/* Moves the end of a running job's limit by what its nodes have told of it until now. */
void limits_move(struct sim *s, int job);

/* Where the limit of a job would end that ends at `end` as things are, if from now on and until
 * `until` (0: for good) it lost what the policy expects of it beside the partner. */
double limits_beside(const struct sim *s, int job, int partner, double end, double until);

/* When a running job is expected to have left, as backfill plans: never in the past. */
double limits_expected(const struct sim *s, int job);
