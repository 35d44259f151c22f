/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When running jobs are expected to end, and whether a start puts off jobs that Slurm has planned.
 */
#pragma once

#include "plugins/select_stripe/candidates.h"

/*
 * When the i-th job of a node is expected to end, in the map's order: where its record says, or
 * later while that does not yet say what sharing costs the job (striping/partners/expected_end.h).
 * Never before the next second.
 */
time_t ends_of(const struct ask *ask, int node, int i);

/* The time limit of a job, or that of its partition, s; 0 = it has none. */
int64_t ends_limit_s(const job_record_t *job_ptr);

/* What many questions of one ask have in common. */
struct ends_check {
	bool on;
	time_t job_end; /* where the job's limit ends if it starts now; 0 = it has none */
	/* The last partners looked at, and the answers: whether it puts somebody off, and whether
	 * there is a plan for any of its nodes. */
	uint32_t partner, planned_partner;
	bool partner_found, planned_found;
};

/* Reads what slurmctld has planned. */
void ends_begin(const struct ask *ask, struct ends_check *check);

/*
 * Whether a job that comes before the ask's one would have to wait longer than Slurm has planned,
 * if that started on the node now: limits count progress, so it and its partners there are expected
 * to end later than their limits say. *first: the one of those that is to start first, or as it
 * was. Of a job on several nodes only this one counts, although the job waits for its slowest.
 */
bool ends_put_off(const struct ask *ask, int node, struct ends_check *check, struct planned *first);

/* Frees what is remembered of plans. */
void ends_forget(void);
