/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The paces at which a job can go, in steps, and how well a set of nodes fits it. */
#pragma once

#include <limits.h>
#include <math.h>

/* Steps of a speed, and how many there are. */
#define LANE_PACES 256
#define LANE_PACE_STEP 0.01

static inline int lane_pace(double speed)
{
	long pace = lround(speed / LANE_PACE_STEP);

	return pace < 0 ? 0 : pace < LANE_PACES ? (int)pace : LANE_PACES - 1;
}

/* How badly so many nodes fit: exactly is best, then more, then as many as possible. */
static inline int lane_misfit(int nodes, int need)
{
	return nodes >= need ? nodes - need : INT_MAX - nodes;
}
