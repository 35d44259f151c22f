/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For how long a job may be held by the long blocks of its co-runners. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A job gets credit for a share of its time beside others, and begins with that of some blocks, as
 * the first ones tell most. A long block takes of the credit of each job that it holds. So partners
 * that come and go, whose first blocks would all be long, cannot hold a job for longer.
 */
#define LONG_CREDIT_FIRST 4 /* blocks */
#define LONG_CREDIT_MOST 5

/* Starts as zeros. */
struct long_credit {
	bool begun;
	int64_t left_ns;   /* below 0 after a block that took longer than planned */
	int64_t beside_ns; /* all of its time beside others */
};

/* Adds what a job gets for beside_ns of its time beside others. length_ns: of one long block,
 * beyond a usual one. */
void long_credit_add(struct long_credit *c, int64_t beside_ns, double budget, int64_t length_ns);

/* Takes off a time for which a long block held the job. */
void long_credit_take(struct long_credit *c, int64_t held_ns);

/* Whether all jobs but this one have credit for a block of this length. credit[i] may be NULL: that
 * job has none. */
bool long_credit_suffices(
	const struct long_credit *const *credit, int jobs, int but, int64_t length_ns);
