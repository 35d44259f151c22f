/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lane arithmetic: which cores of a node belong to which lane. Knows neither hwloc nor Slurm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/settings.h"

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

/*
 * How many lanes the settings give a node of this shape: those of the last stripe_lanes_on for it,
 * else stripe_lanes; never more than a socket has cores, so that small nodes have fewer lanes
 * instead of none. Sockets of one core count as lanes_of_node() says.
 */
int lanes_count(const struct poppa_settings *s, int sockets, int cores);

/*
 * The lanes of a node as Slurm describes it: sockets of equally many cores, numbered through in
 * logical order, of which jobs never get the spare ones (core specialisation; spare may be NULL).
 * The rest of each socket is shared out as by lanes_assign(). Only this function decides which core
 * belongs to which lane, for slurmctld, for submission and for the poppa command.
 *
 * Caches and NUMA nodes are no parameters: the cores of one follow each other in logical order, so
 * each lane gets n/L of its n cores, rounded up or down. Where sockets have a single core (a
 * slurm.conf that gives only CPUs, many virtual machines), the node counts as one socket.
 *
 * lane_of[sockets * cores]: out, as in lanes_assign(). socket_cores, if not NULL: out, the most
 * cores that one lane has on one of Slurm's sockets. Returns what lanes_assign() does, or -1 with
 * ENOMEM.
 */
int lanes_of_node(
	int sockets, int cores, const bool *spare, int lanes, int *lane_of, int *socket_cores);
