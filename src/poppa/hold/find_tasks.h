/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a job to its processes on this node: Slurm's cgroups are the truth. */
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
	bool app; /* an application task; else a launcher, a shell or slurmstepd */
	bool stepd, shell;
	bool job_control;   /* a task whose shell waits for its stops, see find_tasks_units() */
	bool traced;        /* a task with a debugger or the like attached to it */
	uint64_t starttime; /* of tasks only, as the state */
	char state;         /* as in /proc/PID/stat */
	pid_t leader_of;    /* of a task that leads a process group: its parent; else 0 */
	int dir;            /* index of its cgroup */
};

struct found_cgroup {
	char *path;
	int parent;          /* -1 for the job's own */
	bool in_step;        /* a step's cgroup or below: may be frozen as a whole */
	enum held_kind kind; /* which freezer it has */
};

struct found_tasks {
	int dirs, processes;
	uint64_t cpu_ticks;       /* of the job's own processes, as proc_stat() has it */
	struct found_cgroup *dir; /* parents come before their children */
	struct found_process *process;
};

/*
 * Finds the job's cgroups under mount (cgroup.conf's CgroupMountpoint), of cgroup v1
 * (freezer/slurm_NODE or freezer/slurm, then uid_U/job_J) or v2 (system.slice/NODE_slurmstepd.scope
 * or system.slice/slurmstepd.scope, then name, or job_J where that is empty), and all processes in
 * those of its steps. Zombies and kernel threads are left out. Returns 0 (nothing found is 0
 * processes), or -1 with errno (ENOMEM, or no descriptor is left: EMFILE, ENFILE). Free with
 * find_tasks_free().
 */
int find_tasks(const char *mount, const char *node, uid_t uid, uint32_t job_id, const char *name,
	const struct nodeconf *conf, struct found_tasks *d);
void find_tasks_free(struct found_tasks *d);

/* Whether an executable's name is that of a launcher, a shell or another helper that runs no part
 * of an application; conf may add names (shell patterns). */
bool find_tasks_launcher(const char *exe, const struct nodeconf *conf);

/* What to stop to stop all application tasks. */
struct found_unit {
	bool freezer;
	int index; /* of dir[] for a freezer, of process[] for a process */
};

/*
 * auto: a step's cgroup is frozen where all its processes are application tasks, at the highest
 * level where that holds; other tasks are stopped one by one. Except under job control, that is
 * where a task has a terminal or a shell has given it a process group of its own: to a shell that
 * waits for its stops, a task stopped for a moment is a job that its user put in the background. So
 * there the shell is frozen with it, and neither can tell. freezer: cgroups that hold a task are
 * frozen even if a launcher is in them. sigstop: every task by itself. slurmstepd is never frozen.
 * Returns the number of units in *units (caller frees), or -1 with errno ENOMEM.
 */
int find_tasks_units(
	const struct found_tasks *d, enum pause_method method, struct found_unit **units);
