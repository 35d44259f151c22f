/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What slurmd tells poppad through files: the co-located jobs of this node and the cluster. */
#ifndef POPPA_NODE_REGISTRY_H
#define POPPA_NODE_REGISTRY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "poppa/measure/schedule.h"

#define REGISTRY_MAX_CORES 4096
#define REGISTRY_ENDED ".ended"

/* One co-located job, from RUNDIR/jobs/JOBID.RESTART (Name=Value lines). */
struct registration {
	uint32_t job_id;
	uint32_t restart;
	uid_t uid;
	char user[64];
	char colocate[256];
	char partition[64];
	char cgroup[64];    /* the job's directory in cgroup v2; empty = job_ID */
	int64_t registered; /* seconds since 1970 */
	char boot_id[44];   /* of the boot it was made in; empty = not told */
	int64_t uptime;     /* then, seconds of CLOCK_BOOTTIME, which nobody sets; -1 = not told */
	bool seeded;
	struct schedule_seed seed;         /* a secret of the job that all its nodes know */
	int lane;                          /* by slurmd, which knows the sockets; -1 = not told */
	int core_count;                    /* 0 = not told */
	uint16_t core[REGISTRY_MAX_CORES]; /* abstract core numbers on this node, ascending */
};

/* Reads the text of one registration. name (JOBID.RESTART) must agree with it. Unknown names are
 * passed over: a newer prolog may write more. Returns 0, or -1 with err. */
int registry_parse(const char *name, const char *text, struct registration *r, struct errmsg *err);

/*
 * Calls fn for each job file in dir (RUNDIR/jobs), in no order; ended is set for
 * JOBID.RESTART.ended. Files with other names are passed over. Returns 0, or -1 with err when dir
 * cannot be read to its end, with fn called for what came before.
 */
typedef void (*registry_fn)(uint32_t job_id, uint32_t restart, bool ended, void *arg);
int registry_scan(const char *dir, registry_fn fn, void *arg, struct errmsg *err);

/* Reads one registration file. *r is large: keep it off small stacks. 0, or -1 with errno and err.
 */
int registry_read(const char *dir, uint32_t job_id, uint32_t restart, bool ended,
	struct registration *r, struct errmsg *err);

/* Whole lane of the job, or -1: as the registration tells it, else its cores' numbers modulo lanes,
 * if all agree, which is the lane where sockets divide evenly. */
int registry_lane(const struct registration *r, int lanes);

/* RUNDIR/cluster.conf. */
struct cluster_conf {
	char cluster[64];
	char node[64];
	char prep_parameters[4096];
	char controllers[1024]; /* SlurmctldHost, comma-separated */
	char cgroup_mount[PATH_MAX];
};

/* *c is untouched on error; errno is ENOENT when the file does not exist (yet). */
int registry_cluster(const char *path, struct cluster_conf *c, struct errmsg *err);

/*
 * Watches run_dir for cluster.conf and run_dir/jobs for registrations. Returns a non-blocking
 * inotify descriptor, or -1 with err.
 */
int registry_watch(const char *run_dir, struct errmsg *err);

/* Takes the waiting events; returns a mask of what may have changed. */
#define REGISTRY_JOBS 1
#define REGISTRY_CLUSTER 2
int registry_changed(int fd);

#endif
