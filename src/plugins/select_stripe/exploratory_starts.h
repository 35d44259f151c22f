/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of exploratory starts in slurmctld: who earns, and which placement is charged. */
#pragma once

#include <stdint.h>

#include "plugins/select_stripe/candidates.h"

/*
 * All of it is guarded by the plugin's lock and in memory only: after a restart of slurmctld
 * nothing is saved. Slurm asks about placements far more often than it makes one, so a placement is
 * noted, and charged when the job starts. Slurm starts a job right after the placement, under its
 * write lock, so one note is enough.
 */

/* The account as of now, after co-located jobs' lanes have earned. To be called before lanes are
 * given or taken and before settings change as well, so that each earns for as long as it has its
 * job, by the settings of that time. */
const struct exploration *exploratory_starts_account(void);

/* A job has been placed, to start now; no lanes: not to explore. */
void exploratory_starts_placed(const job_record_t *job_ptr, const struct exploratory_start *start);

/* A job starts: where it was placed to explore, this is charged and logged. */
void exploratory_starts_started(const job_record_t *job_ptr);

/* A job has left its nodes. */
void exploratory_starts_ended(uint32_t job_id);

/* For struct node_exploration: how long the ask's job would be beside the partners of a candidate
 * by their limits, s; 0 where one of them has max-degradation, and asks for no more than that, or
 * where no limit ends it. */
double exploratory_starts_overlap_s(const struct ask *ask, const struct candidate *c);
