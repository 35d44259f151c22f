/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the processes of a job on this node in Slurm's cgroups. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/nodeconf.h"
#include "common/settings.h"
#include "poppa/hold/held.h"

struct found_process {
	pid_t pid;
	bool app; /* an application task; else slurmstepd, or a launcher or a shell that only waits
		   */
	bool stepd, shell;
	bool headless;      /* a task whose first thread has ended */
	bool job_control;   /* a task whose shell waits for its stops, see find_tasks_units() */
	bool traced;        /* a task with a debugger or another tracer attached to it */
	uint64_t starttime; /* as proc_stat() has it */
	/* Of tasks only, as proc_stat() has them: */
	uint64_t cpu_ticks, own_ticks;
	char exe[64]; /* as proc_exe() has it, longer ones are cut */
	int threads;
	char state;
	pid_t leader_parent; /* of a task that leads a process group: its parent; else 0 */
	int dir;             /* index of its cgroup */
};

struct found_cgroup {
	char *path;
	int parent;          /* -1 for the job's own */
	bool in_step;        /* a step's cgroup or below */
	bool users;          /* made by its user, who may thaw it: never frozen by itself */
	enum held_kind kind; /* which freezer it has */
};

#define FIND_TASKS_MAX 32768     /* processes of a job */
#define FIND_TASKS_MAX_DIRS 4096 /* cgroups of a job */

struct found_tasks {
	int dirs, processes;
	int looked;                /* cgroups and processes, also those that had ended */
	bool more;                 /* there is more, or deeper, than was looked at */
	uint64_t cpu_ticks;        /* of the job's own processes, as proc_stat() has it */
	char usage[PATH_MAX];      /* the file with its cgroups' processor time; may not exist */
	char user_usage[PATH_MAX]; /* cgroup v1: that of all of the user's; else "" */
	struct found_cgroup *dir;  /* parents come before their children */
	struct found_process *process; /* by ascending pid */
};

/* To look at thousands of cgroups or processes takes long: this is called after every
 * FIND_TASKS_MEANWHILE of them. It must not change what is being looked for. */
struct find_tasks_meanwhile {
	void (*call)(void *arg);
	void *arg;
};

#define FIND_TASKS_MEANWHILE 128

/*
 * Finds the job's cgroups under mount (cgroup.conf's CgroupMountpoint), of cgroup v1
 * (freezer/slurm_NODE or freezer/slurm, then uid_U/job_J) or v2 (system.slice/NODE_slurmstepd.scope
 * or system.slice/slurmstepd.scope, then name, or job_J where name is empty), and all processes in
 * those of its steps, without zombies and kernel threads. Returns 0 (also where it finds nothing),
 * or -1 with errno (ENOMEM, or no descriptor is left: EMFILE, ENFILE). Free with find_tasks_free().
 * `meanwhile` may be NULL.
 */
int find_tasks(const char *mount, const char *node, uid_t uid, uint32_t job_id, const char *name,
	const struct nodeconf *conf, const struct find_tasks_meanwhile *meanwhile,
	struct found_tasks *d);
void find_tasks_free(struct found_tasks *d);

/*
 * Whether the process is in the cgroup of this directory, of a job, at this moment. A list of
 * processes is some milliseconds old: who was in it may have ended, and its number may be another's
 * process, of any user. So ask before anything is done to a process, after its start time was read:
 * whoever gets the number later has another one. Where the first thread of a process has ended, the
 * kernel no longer tells. True where the directory is no kernel's (in tests). Allocates nothing.
 */
bool find_tasks_holds(const char *dir, pid_t pid);

/* Whether exe names a launcher, a shell or another helper that runs no part of an application; conf
 * may add names (shell patterns). A process of that name that computes is a task all the same. */
bool find_tasks_launcher(const char *exe, const struct nodeconf *conf);

/* What to stop to stop all application tasks. */
struct found_unit {
	bool freezer;
	int index; /* of dir[] for a freezer, of process[] for a process */
};

/*
 * auto: a step's cgroup is frozen where all its processes are application tasks, at the highest
 * level where that holds; other tasks are stopped one by one. The exception is job control: a task
 * has a terminal, or a shell has given it its own process group. A shell that waits for stops would
 * take a task that is stopped for a moment for one that its user has put in the background. So the
 * shell is frozen with the task, and neither notices. freezer: a cgroup that holds a task is frozen
 * even if a launcher is in it. In both a cgroup that the user made belongs to the one above it that
 * Slurm made: who may write to a freezer may thaw what poppad froze. sigstop: every task is stopped
 * by itself. slurmstepd is never frozen. Returns the number of units in *units (caller frees), or
 * -1 with errno ENOMEM.
 */
int find_tasks_units(
	const struct found_tasks *d, enum pause_method method, struct found_unit **units);
