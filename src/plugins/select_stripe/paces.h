/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast running co-located jobs are expected to be, looked up once for each in a question. */
#pragma once

#include <stddef.h>

#include "striping/partners/lane_yield.h"

struct pace_known;

/* The jobs of a question. A job may be on many nodes, each with other jobs beside it, so to look it
 * up anew for each of these would take as many steps as it has nodes, squared. */
struct paces {
	const struct outlook *outlook;
	struct pace_known *known; /* by job id, with open addressing */
	size_t room;              /* a power of two, twice as many as there can be jobs */
};

/* jobs: so many at most. paces_end() in any case. */
void paces_begin(struct paces *p, const struct outlook *outlook, size_t jobs);
void paces_end(struct paces *p);

/* Fills in the jobs that are on the node at these positions of the map, one bit each, and returns
 * how many they are. */
int paces_of(struct paces *p, int node, uint64_t positions,
	struct lane_partner partner[LANE_PARTNERS_MAX]);
