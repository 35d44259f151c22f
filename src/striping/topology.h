/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a machine's topology through hwloc and lays its lanes out as cores, PUs and cpusets. */
#ifndef POPPA_STRIPING_TOPOLOGY_H
#define POPPA_STRIPING_TOPOLOGY_H

#include "common/errmsg.h"

/* One lane of a node. Arrays ascend within each socket and are owned by the map. */
struct topology_lane {
	int core_count;
	int *cores; /* logical core numbers of the node */
	int pu_count;
	int *pus;     /* OS indices; SMT siblings are in the same lane */
	char *cpuset; /* hwloc's text form of pus: 32-bit words, "0x00005555" */
};

struct topology_map {
	int sockets;
	int *cores_per_socket;
	int lane_count;
	struct topology_lane *lane;
	int unused_count;
	int *unused; /* logical numbers of the cores that belong to no lane */
};

/*
 * The lanes of a topology: source NULL is this machine as hwloc sees it (whole, whatever the
 * caller's cgroup allows; HWLOC_XMLFILE and HWLOC_SYNTHETIC are honoured), the path of an XML file
 * that lstopo wrote, or a synthetic description such as "pack:2 core:8 pu:2". A topology without
 * packages is one socket, one without cores has a core per PU.
 * Returns a new map (topology_map_free), or NULL with err set.
 */
struct topology_map *topology_map_load(const char *source, int lanes, struct errmsg *err);
void topology_map_free(struct topology_map *map);

#endif
