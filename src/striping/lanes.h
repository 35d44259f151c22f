/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lane arithmetic: which cores of a node belong to which lane. Knows neither hwloc nor Slurm. */
#ifndef POPPA_STRIPING_LANES_H
#define POPPA_STRIPING_LANES_H

#include <stddef.h>

#define LANES_MAX 16
#define LANE_NONE (-1)

/*
 * Assigns every core of a node to a lane. A socket of c cores gives each of L lanes floor(c/L)
 * cores: lane i has the socket's cores i, i+L, i+2L, ...; the c mod L last cores belong to no lane,
 * so lanes are equal per socket (thesis ch. 2, Figure 2.1, for L = 2).
 *
 * cores_per_socket[sockets]: physical cores of each socket, in logical order.
 * lane_of[sum of cores_per_socket]: out, lane 0..L-1 or LANE_NONE, by logical core number of the
 * node. Returns the number of cores of one lane (the same for all), or -1 with EINVAL when lanes is
 * not in 1..LANES_MAX. 0 means that no socket has a core for each lane: the node cannot be striped.
 */
int lanes_assign(const int *cores_per_socket, int sockets, int lanes, int *lane_of);

#endif
