/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assigns the cores of a node to lanes. */
#include "striping/lanes.h"

#include <errno.h>

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
