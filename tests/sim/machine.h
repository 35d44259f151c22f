/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes and lanes: who is where, and the queue of those that wait. */
#pragma once

#include "sim/sim.h"

/* Sets up an empty machine of s->nodes nodes, with all of s->work still to come. 0, or -1 with err;
 * machine_free() in any case. */
int machine_new(struct sim *s, struct errmsg *err);
void machine_free(struct sim *s);

/* Gives a job one lane or both of each of these nodes, or takes them back. 0, or -1 without memory.
 */
int machine_take(struct sim *s, int job, const int *node, int nodes, int lanes);
void machine_release(struct sim *s, int job);

/* Counts the time of a node up to now, then looks whether it is below break-even. To be called
 * after each change of the pace of a job on it. */
void machine_account(struct sim *s, int node);

/* Into the queue, by time of submission, and out of it. */
void machine_enqueue(struct sim *s, int job);
void machine_dequeue(struct sim *s, int job);
