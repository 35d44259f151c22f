/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which waiting jobs start, in the order of their submission. EASY (Lifka 1995): the first job that
 * cannot start has a place kept at the earliest time at which it can, by the limits of running
 * jobs, and later jobs start only where they leave it that. Conservative: each waiting job has one.
 *
 * A place is a set of nodes, and of those that suit the job at its time it takes the ones that are
 * not free now, so that as many as possible are left for others until then.
 */
#pragma once

#include "sim/sim.h"

/* 0, or -1 with err; backfill_free() in any case. */
int backfill_setup(struct sim *s, struct errmsg *err);
void backfill_free(struct sim *s);

/* Looks at all that wait, after lanes have become free or limits have moved. */
void backfill_pass(struct sim *s);

/* Looks at a job that has just been submitted: nothing has become easier for the others. */
void backfill_new(struct sim *s, int job);
