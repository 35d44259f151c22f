/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast jobs run beside each other: the matrix, noise, the worst node, and turns. */
#pragma once

#include "sim/sim.h"

/* How fast a job's program is beside another's, as the matrix says, against compact; alone on its
 * lane where partner is NOBODY. */
double pace_plain(const struct sim *s, int job, int partner);

/* What a job loses by that against alone on its lane; a run differs from the matrix by noise. */
double pace_degradation(const struct sim *s, int job, int partner);

/* Computes the pace of a running job: a job waits for its slowest node. */
void pace_update(struct sim *s, int job);

/* What poppad on a node decides a minute after the two have come together: whether they take turns,
 * and how much of the time each is alone for them. Changes the node; true if it did. */
bool pace_turns(struct sim *s, int node);

/* How long after that. */
#define PACE_TURNS_S 60
