/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a machine's topology through hwloc and lays its lanes out as cores, PUs and cpusets. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"
#include "common/settings.h"

/* One lane of a node. Arrays ascend within each socket and are owned by the map. */
struct topology_lane {
	int core_count;
	int *cores; /* logical core numbers of the node */
	int pu_count;
	int *pus;     /* OS indices; SMT siblings are in the same lane */
	char *cpuset; /* hwloc's text form of pus: 32-bit words, "0x00005555" */
};

/* What Slurm takes for a socket: a package, or by SlurmdParameters something smaller. */
enum topology_socket {
	TOPOLOGY_PACKAGE,
	TOPOLOGY_NUMA, /* numa_node_as_socket */
	TOPOLOGY_L3,   /* l3cache_as_socket */
};

/* How to look at a topology. */
struct topology_view {
	int lanes;                             /* 0: by the settings */
	enum stripe_shape shape;               /* of them */
	bool shape_given;                      /* false: that of the settings counts */
	const struct poppa_settings *settings; /* NULL: the defaults */
	enum topology_socket socket;
	/* Only the PUs that this process may use: of its cgroup, and of those it is bound to.
	 * source is NULL then. */
	bool allowed;
	const char *reserved; /* CpuSpecList, in logical order ("0,8-9"); NULL: jobs get all CPUs */
};

struct topology_pu {
	int pu;           /* OS index */
	int core, socket; /* logical numbers of the node */
};

struct topology_map {
	int sockets;
	int *cores_per_socket; /* where they differ, Slurm counts their rounded-down mean for each
				*/
	int lane_count;
	struct topology_lane *lane;
	int pu_count;
	struct topology_pu *pu; /* all of the node, those of a core side by side */
	int unused_count;
	int *unused; /* logical numbers of the cores that belong to no lane */
};

/*
 * The lanes of a topology, which are those that slurmctld gives out on a node with this topology
 * (lanes_of_node()). source: NULL for this machine as hwloc sees it (all of it, whatever the
 * caller's cgroup allows; HWLOC_XMLFILE and HWLOC_SYNTHETIC count), the path of an XML file that
 * lstopo wrote, or a synthetic description such as "pack:2 core:8 pu:2". A topology without
 * packages is one socket; one without cores has a core per PU. Returns a new map for
 * topology_map_free(), or NULL with err set.
 */
struct topology_map *topology_map_load(
	const char *source, const struct topology_view *view, struct errmsg *err);
void topology_map_free(struct topology_map *map);
