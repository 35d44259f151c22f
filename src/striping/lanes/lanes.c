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

bool lanes_of_sockets(int sockets, int cores)
{
	return sockets > 1 && cores > 1;
}

int lanes_count(const struct poppa_settings *s, int sockets, int cores)
{
	int lanes = stripe_rules_find(&s->lanes_on, sockets, cores, s->stripe_lanes);
	int most = cores > 1 ? cores : sockets;

	return most > 1 && most < lanes ? most : lanes;
}

/* How many cores of each socket jobs may have. */
static void count_usable(const bool *spare, int all, int per_socket, int *count)
{
	for (int c = 0; c < all; c++)
		count[c / per_socket] += !spare || !spare[c];
}

/* As lanes_of_node() for stripes, on `parts` sockets with so many cores for jobs each. */
static int assign_stripes(const int *count, int parts, int cores, int all, const bool *spare,
	int lanes, int *lane_of, struct lane_size *size)
{
	/* The compiler does not know that the product of both is no more than an int holds. */
	int *assigned = all > 0 ? calloc((size_t)all, sizeof(*assigned)) : NULL;
	int rc = assigned ? lanes_assign(count, parts, lanes, assigned) : -1;

	for (int c = 0, used = 0; rc >= 0 && c < all; c++)
		lane_of[c] = spare && spare[c] ? LANE_NONE : assigned[used++];
	for (int p = 0; rc > 0 && p < parts; p++)
		if (count[p] / lanes > size->socket_cores)
			size->socket_cores = count[p] / lanes;
	if (cores == 1 && size->socket_cores)
		size->socket_cores = 1;
	free(assigned);
	return rc;
}

/* The same for lanes of whole sockets, of `wanted` cores, which is what stripes have. */
static int assign_sockets(const int *count, int sockets, int cores, const bool *spare, int lanes,
	int wanted, int *lane_of, struct lane_size *size)
{
	const int per_lane = lanes_of_sockets(sockets, cores) ? sockets / lanes : 0;
	int lane_cores = 0;

	for (int c = 0; c < sockets * cores; c++)
		lane_of[c] = LANE_NONE;
	for (int k = 0; k < per_lane; k++) {
		int least = wanted - lane_cores;

		for (int lane = 0; lane < lanes; lane++)
			if (count[lane * per_lane + k] < least)
				least = count[lane * per_lane + k];
		for (int lane = 0; lane < lanes; lane++) {
			int first = (lane * per_lane + k) * cores;

			for (int c = first, used = 0; c < first + cores && used < least; c++) {
				if (spare && spare[c])
					continue;
				lane_of[c] = lane;
				used++;
			}
		}
		lane_cores += least;
		if (least > size->socket_cores)
			size->socket_cores = least;
	}
	size->sockets = per_lane;
	if (lane_cores == wanted)
		return lane_cores;
	for (int c = 0; c < sockets * cores; c++)
		lane_of[c] = LANE_NONE;
	return 0;
}

int lanes_of_node(enum stripe_shape shape, int sockets, int cores, const bool *spare, int lanes,
	int *lane_of, struct lane_size *size)
{
	const int parts = cores == 1 ? 1 : sockets;
	struct lane_size found = {.sockets = sockets};
	int *count, rc;

	if (sockets < 1 || cores < 1) {
		errno = EINVAL;
		return -1;
	}
	count = calloc((size_t)parts, sizeof(*count));
	if (!count)
		return -1;
	count_usable(spare, sockets * cores, sockets * cores / parts, count);
	rc = assign_stripes(count, parts, cores, sockets * cores, spare, lanes, lane_of, &found);
	if (shape == SHAPE_SOCKET && rc >= 0) {
		found = (struct lane_size){0};
		rc = assign_sockets(count, sockets, cores, spare, lanes, rc, lane_of, &found);
	}
	found.cores = rc > 0 ? rc : 0;
	if (!found.cores)
		found.socket_cores = 0;
	if (size)
		*size = found;
	free(count);
	return rc;
}

int lanes_usual(const struct poppa_settings *s, int sockets, int cores, const bool *spare,
	int lanes, int *lane_of, struct lane_size *size, enum stripe_shape *shape)
{
	int rc;

	*shape = stripe_rules_find(&s->shape_on, sockets, cores, (int)s->stripe_shape);
	rc = lanes_of_node(*shape, sockets, cores, spare, lanes, lane_of, size);
	if (rc || *shape == SHAPE_STRIPE)
		return rc;
	*shape = SHAPE_STRIPE;
	return lanes_of_node(*shape, sockets, cores, spare, lanes, lane_of, size);
}
