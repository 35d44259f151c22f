/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files in RunDir in which slurmd tells poppad about the node's jobs and the cluster. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"

/*
 * prep/poppa in slurmd writes these files, and poppad reads them. Each is replaced in one step, so
 * a reader never sees half of one. RunDir/cluster.conf exists once slurmd has run. A job's prolog
 * makes RunDir/jobs/JOBID.RESTART; when the job has left the node, slurmd renames it to
 * JOBID.RESTART.ended; poppad removes that when the job's final record is safe. A crash of either
 * leaves the files as they are, and its next start goes on from them.
 */
#define REGISTRATION_DIR "jobs"          /* in RunDir */
#define CLUSTER_CONF_FILE "cluster.conf" /* in RunDir */
#define REGISTRATION_MAX_CORES 4096

/* One co-located job on this node. */
struct registration {
	uint32_t job_id;
	uint32_t restart;
	uid_t uid;
	char user[64];
	char colocate[1024];    /* the canonical option */
	char map[8];            /* "auto": its threads are mapped; empty: they are not */
	double max_degradation; /* what it may lose to co-runners, as a fraction; 0 = no limit */
	const char *nodes; /* host list, for people who look at the file: reading leaves it NULL */
	int node_count, node_index; /* how many these are, and which this one is; -1 = not told */
	char partition[64];
	char cgroup[64];    /* name of the job's directory in cgroup v2; empty = job_ID */
	int64_t registered; /* seconds since 1970 */
	char boot_id[44];   /* of the boot in which it was written; empty = not told */
	int64_t uptime;     /* when it was written, seconds of CLOCK_BOOTTIME; -1 = not told */
	bool seeded;
	uint64_t seed[2]; /* a secret of the job that all its nodes know */
	int lane;         /* from slurmd, which knows the sockets; -1 = not told */
	int core_count;   /* 0 = not told */
	uint16_t core[REGISTRATION_MAX_CORES]; /* abstract core numbers on this node, ascending */
};

/* Makes a registration that tells nothing yet. */
void registration_init(struct registration *r);

/* Reads 32 hexadecimal digits, nothing else, into r->seed. Returns 0, or -1 with *r untouched. */
int registration_set_seed(struct registration *r, const char *digits);

/* Writes the file of a job into dir (RUNDIR/jobs), readable by root only. Bytes that would end a
 * value are left out. Returns 0, or -1 with err. */
int registration_write(const char *dir, const struct registration *r, struct errmsg *err);

/* Whether two registrations of one job id and restart count are of the same run, whenever each was
 * made. An id may be given out again while the file of an earlier job lies there. No two jobs have
 * the same seed, no job outlives a boot, and a run keeps its cores on a node. */
bool registration_same_run(const struct registration *a, const struct registration *b);

/* Marks the job's file as ended. Returns 0, also where there is no file, or -1 with err. */
int registration_end(const char *dir, uint32_t job_id, uint32_t restart, struct errmsg *err);

/* Removes the job's file: the one that is marked as ended, or the one that is not. */
void registration_remove(const char *dir, uint32_t job_id, uint32_t restart, bool ended);

/* Whether a file of this name (JOBID.RESTART or JOBID.RESTART.ended) is a registration. */
bool registration_is_name(const char *name, uint32_t *job_id, uint32_t *restart, bool *ended);

/*
 * Calls fn for each registration in dir, in no order; files with other names are skipped. fn may
 * end or remove it. Returns 0, or -1 with err when dir cannot be read to its end; fn has then been
 * called for some of them.
 */
typedef void (*registration_fn)(uint32_t job_id, uint32_t restart, bool ended, void *arg);
int registration_scan(const char *dir, registration_fn fn, void *arg, struct errmsg *err);

/*
 * Reads the text of one registration. name (JOBID.RESTART) must agree with it. Unknown keys are
 * skipped, because a newer prolog may write more. Returns 0, or -1 with err. *r is large: keep it
 * off small stacks.
 */
int registration_parse(
	const char *name, const char *text, struct registration *r, struct errmsg *err);

/* Reads one file. Returns 0, or -1 with errno and err. */
int registration_read(const char *dir, uint32_t job_id, uint32_t restart, bool ended,
	struct registration *r, struct errmsg *err);

/* Reads the file of the run of this job that has not ended, the last one where there are several.
 * Returns 0, or -1 with err; errno is ENOENT where the job has none. */
int registration_find(const char *dir, uint32_t job_id, struct registration *r, struct errmsg *err);

/* The job's lane: the one that the registration tells, else the remainder of its core numbers by
 * lanes, which is the lane where lanes divide sockets evenly. -1 where these differ. */
int registration_lane(const struct registration *r, int lanes);

/* What slurmd knows of the cluster. */
struct cluster_conf {
	char cluster[64];
	char node[64];
	char prep_parameters[4096];
	char controllers[1024]; /* SlurmctldHost, comma-separated */
	char cgroup_mount[PATH_MAX];
};

/* Writes path, readable by all. Returns 0, or -1 with err. */
int cluster_conf_write(const char *path, const struct cluster_conf *c, struct errmsg *err);

/* Returns 0, or -1 with err and *c untouched; errno is ENOENT when the file does not exist (yet).
 */
int cluster_conf_read(const char *path, struct cluster_conf *c, struct errmsg *err);
