/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells which core of a node belongs to which lane, by the cores that slurmctld knows. */
#pragma once

#include "common/settings.h"
#include "plugins/compat/select_compat.h"

/* How the cores of nodes of one kind are shared out. */
struct layout {
	int cores;        /* of the node, numbered as in Slurm's core bitmaps */
	int lanes;        /* at least 1, whatever lane_cores is */
	int lane_cores;   /* cores of one lane; 0 = such a node cannot be striped */
	int socket_cores; /* the most cores that one lane has on one socket */
	int threads;      /* CPUs that Slurm schedules on a core */
	int type;         /* of the nodes, for layout_type() */
	int lane_of[];    /* by core */
};

/*
 * The layout of a node by the settings of the last layout_reset(); specialised cores are left out
 * and the rest of each socket is shared out (striping/lanes/lanes.h). Kept until layout_reset().
 * NULL for a hole in the node table.
 */
const struct layout *layout_of(int node);

/* So many types of nodes are told apart; type 0 are all others. */
#define LAYOUT_TYPES 8

/* The text of a type in names of classes (class_node_type()); "" for type 0, and where all nodes of
 * the cluster are alike; NULL: there are fewer types. */
const char *layout_type(int type);

/* Whether a node's hardware or specialised cores have changed since layout_reset(). */
bool layout_changed(void);

/* Forgets all layouts: the nodes or the settings may have changed. */
void layout_reset(const struct poppa_settings *settings);
