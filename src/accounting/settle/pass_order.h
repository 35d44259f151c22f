/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose jobs come first where a pass has no time for all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pass_job {
	int64_t key; /* of one user's jobs the least one comes first */
	uint32_t uid;
	uint32_t job_id;
	bool later;    /* it can wait: it comes after all jobs that cannot */
	uint32_t rank; /* set by pass_order(): how many of the user's jobs come before it */
};

/*
 * Puts the jobs in the order of their turns: of those that are not `later` each user's first one,
 * by key and then by id, then each one's second, and so on; then the others likewise. So however
 * many jobs a user has, another one's first waits for one of each user at most. In place, in n log
 * n steps; allocates nothing.
 */
void pass_order(struct pass_job *job, size_t count);
