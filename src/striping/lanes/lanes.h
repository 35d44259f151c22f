/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lane arithmetic: which cores of a node belong to which lane. Knows neither hwloc nor Slurm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/settings.h"

#define LANES_MAX 16
#define LANE_NONE (-1)

/*
 * A lane of a node in a set of them: lanes of both shapes have bits of their own. A node gives
 * lanes of one shape at a time, so that lanes that are given out share no core. Two lanes of
 * different shapes mostly do.
 */
#define LANE_BIT(shape, lane) (UINT32_C(1) << ((int)(shape)*LANES_MAX + (lane)))

/* The first `lanes` lanes of a shape. */
#define LANE_BITS(shape, lanes) (((UINT32_C(1) << (lanes)) - 1) << ((int)(shape)*LANES_MAX))

/* Whether the set has a lane of the shape. */
#define LANES_HAVE(set, shape) (!!((set)&LANE_BITS(shape, LANES_MAX)))

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
 * How many lanes the settings give a node of this size: those of the last stripe_lanes_on for it,
 * else stripe_lanes; never more than a socket has cores, so that small nodes have fewer lanes
 * instead of none. Sockets of one core count as lanes_of_node() says.
 */
int lanes_count(const struct poppa_settings *s, int sockets, int cores);

/* Whether a node of this size can have lanes of whole sockets: it has several, of several cores. */
bool lanes_of_sockets(int sockets, int cores);

/* What lanes of one shape of a node have in common. */
struct lane_size {
	int cores;        /* of each lane; 0: the node has no lanes of this shape */
	int socket_cores; /* the most of them on one socket */
	int sockets;      /* on so many sockets they may be */
};

/*
 * The lanes of a node as Slurm describes it: sockets of equally many cores, numbered through in
 * logical order, of which jobs never get the spare ones (core specialisation; spare may be NULL).
 * Only this function decides which core belongs to which lane, for slurmctld, for submission and
 * for the poppa command.
 *
 * Stripes: the rest of each socket is shared out as by lanes_assign(). Whole sockets: with S
 * sockets, lane i of L has the floor(S/L) sockets from i floor(S/L) on. Lanes of both shapes have
 * equally many cores, so that a job may have either, at one price: where sockets have more, their
 * last cores belong to no lane; where they have fewer (S is no multiple of L, or many cores of one
 * are spare), the node has no lanes of whole sockets.
 *
 * Caches and NUMA nodes are no parameters: the cores of one follow each other in logical order, so
 * each stripe gets n/L of its n cores, rounded up or down. Where sockets have a single core (a
 * slurm.conf that gives only CPUs, many virtual machines), the node counts as one socket.
 *
 * lane_of[sockets * cores]: out, as in lanes_assign(). size, if not NULL: out. Returns what
 * lanes_assign() does, or -1 with ENOMEM.
 */
int lanes_of_node(enum stripe_shape shape, int sockets, int cores, const bool *spare, int lanes,
	int *lane_of, struct lane_size *size);

/*
 * The same of the shape that jobs get there who do not ask for one, while the node has no job:
 * *shape is that of the last stripe_shape_on for it, else stripe_shape, and stripes where the node
 * has no others.
 */
int lanes_usual(const struct poppa_settings *s, int sockets, int cores, const bool *spare,
	int lanes, int *lane_of, struct lane_size *size, enum stripe_shape *shape);
