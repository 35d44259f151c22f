/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves the ends of running co-located jobs by what they have lost (stripe_timelimit). */
#pragma once

#include "settler_context.h"

/*
 * Every ten seconds: asks the ledger for the records of some running co-located jobs, a bounded
 * number in turn, and sets TimeLimit and EndTime in their records, where time_limit_end() moves
 * them. What was asked for stands in SystemComment (time_limit.h), which slurmctld saves with the
 * limit; a job that waits to run again gets it back. While the ledger does not answer no end moves.
 * The same records teach the pair history (run_segments.h).
 * Waits for the network without Slurm's locks; takes those on jobs (write), configuration, nodes
 * and partitions for one short pass.
 */
void time_limits_pass(struct settler *w, bool (*stopped)(const void *arg), const void *arg);

/* When that is due, ms of CLOCK_MONOTONIC. */
int64_t time_limits_due_ms(const struct settler *w);
