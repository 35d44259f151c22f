/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assigns the cores of a node to lanes. */
#include "striping/lanes/lanes.h"

#include <errno.h>
#include <stdlib.h>

int lanes_assign(const int *cores_per_socket, int sockets, int lanes, int *lane_of)
{
	int base = 0, lane_cores = 0;

	if (lanes < 1 || lanes > LANES_MAX || sockets < 0) {
		errno = EINVAL;
		return -1;
	}
	for (int s = 0; s < sockets; s++) {
		int usable = cores_per_socket[s] / lanes * lanes;

		for (int c = 0; c < cores_per_socket[s]; c++)
			lane_of[base + c] = c < usable ? c % lanes : LANE_NONE;
		base += cores_per_socket[s];
		lane_cores += usable / lanes;
	}
	return lane_cores;
}

int lanes_count(const struct poppa_settings *s, int sockets, int cores)
{
	int lanes = s->stripe_lanes, most = cores > 1 ? cores : sockets;

	for (int i = 0; i < s->stripe_rule_count; i++)
		if (s->stripe_rule[i].sockets == sockets && s->stripe_rule[i].cores == cores)
			lanes = s->stripe_rule[i].lanes;
	return most > 1 && most < lanes ? most : lanes;
}

int lanes_of_node(
	int sockets, int cores, const bool *spare, int lanes, int *lane_of, int *socket_cores)
{
	int all = sockets * cores, parts = cores == 1 ? 1 : sockets, per_part, most = 0, rc;
	int *count, *assigned;

	if (sockets < 1 || cores < 1) {
		errno = EINVAL;
		return -1;
	}
	count = calloc((size_t)parts, sizeof(*count));
	assigned = calloc((size_t)all, sizeof(*assigned));
	per_part = all / parts;
	for (int c = 0; count && c < all; c++)
		count[c / per_part] += !spare || !spare[c];
	rc = count && assigned ? lanes_assign(count, parts, lanes, assigned) : -1;
	for (int c = 0, used = 0; rc >= 0 && c < all; c++)
		lane_of[c] = spare && spare[c] ? LANE_NONE : assigned[used++];
	for (int p = 0; rc > 0 && p < parts; p++)
		if (count[p] / lanes > most)
			most = count[p] / lanes;
	if (socket_cores)
		*socket_cores = cores == 1 && most ? 1 : most;
	free(count);
	free(assigned);
	return rc;
}
