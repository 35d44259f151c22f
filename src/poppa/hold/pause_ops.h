/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations that each way of pausing implements, for pause.c and these ways only. */
#pragma once

#include "poppa/hold/pause.h"

struct pause_ops {
	int (*stop)(struct pause_unit *u);               /* arms; disarms again where it fails */
	int (*stands_still)(struct pause_unit *u);       /* as pause_stands_still() */
	bool (*stopped)(const struct pause_unit *u);     /* as pause_stopped() */
	bool (*resume)(struct pause_unit *u, bool look); /* as pause_resume(); does not disarm */
	/* As pause_watch() and pause_meddled(); NULL: it cannot. */
	int (*watch)(struct pause_unit *u);
	bool (*meddled)(struct pause_unit *u);
};

/* The main thread opens and closes a unit; during a block only the stopping thread uses it. held.h
 * has the order in which the entry's state and the process change. */
struct pause_unit {
	const struct pause_ops *ops;
	struct held_file *held;
	int entry;
	enum held_kind kind;
	pid_t pid; /* of a process only */
	/* process: pidfd, /proc/PID/status, /proc/PID/task; cgroup: switch, state, watch */
	int fd[3];
	bool meddled; /* somebody else wrote to the switch since it was frozen; of a cgroup only */
};

/* Returns a unit with an entry and without descriptors, or NULL with errno. */
struct pause_unit *pause_new(const struct pause_ops *ops, struct held_file *h, enum held_kind kind,
	pid_t pid, uint64_t starttime, const char *dir);
