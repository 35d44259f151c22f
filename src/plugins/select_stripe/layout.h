/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells which core of a node belongs to which lane, by the cores that slurmctld knows. */
#pragma once

#include "common/settings.h"
#include "plugins/compat/select_compat.h"
#include "striping/lanes/lanes.h"

/* The lanes of one shape that nodes of one kind can have. */
struct lane_set {
	struct lane_size size; /* size.cores 0 = such a node has no lanes of this shape */
	int type;              /* of nodes with lanes of this shape, for layout_type() */
	int *lane_of;          /* by core */
};

/* How the cores of nodes of one kind are shared out. */
struct layout {
	int cores;               /* of the node, numbered as in Slurm's core bitmaps */
	int lanes;               /* at least 1, whether it has lanes or not */
	int lane_cores;          /* of a lane, whatever its shape */
	int threads;             /* CPUs that Slurm schedules on a core */
	enum stripe_shape usual; /* where no job asks for a shape, and none has lanes already */
	struct lane_set of[STRIPE_SHAPES];
};

/*
 * The layout of a node by the settings of the last layout_reset(); specialised cores are left out
 * and the rest of each socket is shared out (striping/lanes/lanes.h). Kept until layout_reset().
 * NULL for a hole in the node table.
 */
const struct layout *layout_of(int node);

/* So many types of nodes are told apart, and as many with lanes of whole sockets; type 0 are all
 * others. */
#define LAYOUT_TYPES 16

/*
 * The text of a type in names of classes (class_node_type()); "" for type 0, and for stripes where
 * all nodes of the cluster are alike; NULL: there are fewer types. Nodes with lanes of whole
 * sockets are types of their own from layout_expect_sockets() on: what stripes have shown is no
 * evidence for them.
 */
const char *layout_type(int type);

/* A job may get lanes of whole sockets. */
void layout_expect_sockets(void);

/* Whether a node's hardware or specialised cores have changed since layout_reset(). */
bool layout_changed(void);

/* Forgets all layouts: the nodes or the settings may have changed. */
void layout_reset(const struct poppa_settings *settings);
