/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which lanes a job had best take by their prices. */
#pragma once

#include <stdbool.h>

#include "striping/partners/outlook.h"

#define LANE_EMPTY (-1)

/* Nodes with the same partner. */
struct lane_group {
	int partner; /* its class's number, or LANE_EMPTY: nobody is there */
	int nodes;
	int id; /* the caller's, for it to know the group again; of equal groups the least is first
		 */
	struct lane_rank { /* by what lane_choice() orders them */
		int late;  /* 1: the job would be too slow there; 2: both would lose */
		long rest; /* what a node leaves beyond the job's own work, in steps of noise */
		int misfit;
		int pace; /* at which it would go there, in steps of a hundredth of compact */
	} rank;
};

/*
 * Orders the groups for a job of class `mine` that needs so many nodes: the first ones are to be
 * taken first. A job waits for its slowest node, so of all paces at which it could go that one is
 * chosen at which all its nodes together leave it most; groups beside which it would be slower come
 * later, and those with which it makes less than one after the other (outlook_worth() below 1)
 * last. Of groups that leave as much, those come first that fit best: so big groups stay whole for
 * big jobs. others_wait: an empty node has a price, as others want one.
 *
 * Takes time count * (log(count) + 256), and no memory.
 */
void lane_choice(const struct outlook *o, int mine, struct lane_group *group, int count, int need,
	bool others_wait);
