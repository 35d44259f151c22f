/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a job leaves its co-runners because its max-degradation is not kept beside them.
 *
 * Nobody may do harm to a neighbour by setting a limit: so it is the job with the limit that
 * leaves, and no other one. Nor may a neighbour do harm to it: so it leaves only where it came last
 * and has run for a few minutes, which is all the work that it can lose by that, and APART_MOST
 * times at most. Where it may not leave, its co-runners are held for it as far as that goes
 * (docs/turns.md).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "striping/submit/apart.h"

/* No job leaves after so much time of its run, s. Nodes tell within two minutes. */
#define SEPARATION_WITHIN_S 300
/* On probation it leaves after so much time if nothing was measured by then, s. */
#define SEPARATION_BLIND_S 180

/* A run of a job that has a limit. */
struct separation {
	uint32_t job_id;
	int64_t start;      /* of the run, seconds since 1970 */
	int64_t ran_s;      /* since then, without suspended time */
	bool may_leave;     /* it may be requeued */
	bool unkept;        /* a node says that the limit cannot be kept there */
	bool probation;     /* the history does not know its partners */
	bool measured;      /* what it loses is known */
	bool distrusted;    /* it reacts to measurements: it could only pretend to lose */
	bool came_first;    /* to one of its nodes, before a co-runner: separation_beside() */
	struct apart apart; /* whom it has left before */
	int count;          /* of co-runners, by separation_beside() */
	uint32_t other[APART_JOBS];
};

/* Adds a job that runs on one of its nodes now. */
void separation_beside(struct separation *s, uint32_t job_id, int64_t start);

/* Whether it may be known by now that the limit is not kept, so that it is worth to look who its
 * co-runners are. */
bool separation_due(const struct separation *s);

/* Whether it leaves them: all of them were added. */
bool separation_leaves(const struct separation *s);
