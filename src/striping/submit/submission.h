/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides at submission whether a co-located job can ever run, and what it gets on each node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "common/settings.h"

#define SUBMISSION_UNSET (-1)

/* An amount of memory as Slurm's options and limits state it. */
struct submission_memory {
	enum { MEMORY_UNSET, MEMORY_PER_NODE, MEMORY_PER_CPU } per;
	int64_t mb;
};

/* Nodes of one kind in a partition. */
struct node_shape {
	int sockets;
	int cores_per_socket;
	int threads_per_core;
	int cpus_per_core;          /* CPUs that Slurm counts for a core: its threads, or 1 */
	enum stripe_shape lanes_of; /* the shape of the lanes that the job gets there */
	int lanes;                  /* of which it gets one */
	int lane_cores;             /* cores of a lane (lanes_of_node()); 0 = no lanes */
	int lane_socket_cores;      /* the most of them on one socket */
	int lane_sockets;           /* on so many sockets they may be */
	bool reserved;              /* core specialisation takes some of its cores */
	int64_t mem_mb;             /* memory that jobs may have */
	int64_t gpus;
	int count;    /* nodes */
	int required; /* how many of these the job insists on (--nodelist) */
};

struct submission_partition {
	const char *name;
	bool exclusive;      /* OverSubscribe=EXCLUSIVE: whole nodes only */
	bool exclusive_topo; /* ExclusiveTopo=YES: the nodes around a job are its own */
	bool exclusive_user; /* ExclusiveUser=YES, where nobody may keep others off (stripe_alone)
			      */
	struct submission_memory default_memory;
	struct submission_memory max_memory;
	int64_t default_mb_per_gpu; /* DefMemPerGPU; 0 = none */
	int64_t max_cpus_per_node;  /* or SUBMISSION_UNSET */
	int64_t max_nodes;          /* of a job; or SUBMISSION_UNSET */
	bool constrained;           /* some nodes are not among the shapes for --constraint */
	const struct node_shape *shape;
	int shape_count;
};

enum submission_sharing {
	SHARING_DEFAULT,
	SHARING_CORES, /* --oversubscribe */
	SHARING_NONE,  /* --exclusive */
	SHARING_USER,  /* --exclusive=user */
	SHARING_MCS,   /* --exclusive=mcs */
	SHARING_TOPO,  /* --exclusive=topo */
};

/* What the job asks for; numbers are SUBMISSION_UNSET where it does not say. */
struct submission {
	bool spread;
	bool shaped; /* only lanes of `shape` will do */
	enum stripe_shape shape;
	enum submission_sharing sharing;
	bool overcommit;
	bool core_spec;      /* --core-spec or --thread-spec */
	bool reboot;         /* --reboot, which takes whole nodes */
	bool gres_bound;     /* --gres-flags=enforce-binding */
	bool memory_counted; /* the cluster hands out memory (CR_*_Memory) */
	struct submission_memory memory;
	int64_t tasks;
	int64_t tasks_per_node;
	int64_t tasks_per_socket;
	int64_t tasks_per_core;
	int64_t cpus_per_task;
	int64_t cpus; /* in all */
	int64_t cpus_per_node;
	int64_t sockets_per_node;
	int64_t cores_per_socket;
	int64_t threads_per_core;
	int64_t gpus; /* in all */
	int64_t gpus_per_node;
	int64_t gpus_per_task;
	int64_t cpus_per_gpu;
	int64_t tasks_per_gpu;
	int64_t mb_per_gpu;
	int64_t min_nodes;
	int64_t max_nodes;
};

/* What the job gets on each node. */
struct submission_grant {
	int64_t cpus_per_node; /* a whole lane of the smallest node that can hold the job */
	int64_t memory_mb;     /* per node; SUBMISSION_UNSET = leave the job's own or the default */
};

/* Everything unset. */
void submission_init(struct submission *r);

/*
 * How many GPUs a list of generic resources has: "gres:gpu:2", "gres/gpu:tesla:2,gres/nic:1" of a
 * job, "gpu:4" of a node; no number means one. SUBMISSION_UNSET: none, or list is NULL.
 */
int64_t submission_gpus(const char *list);

/* Whether the partition is among those that are open to co-located jobs: a comma list, "" = all.
 * Returns 0, or -1 with err. A job must not name any other, since Slurm chooses. */
int submission_check_open(const char *partition, const char *open, struct errmsg *err);

/*
 * Whether the job could run on idle nodes of the partition. Returns 0 and the grant, or -1 with a
 * message that says why not and what to ask for instead.
 */
int submission_check(const struct submission *r, const struct submission_partition *p,
	struct submission_grant *grant, struct errmsg *err);
