/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the ways of pausing only: what a new one fills in. */
#pragma once

#include <time.h>

#include "poppa/hold/pause.h"

struct pause_ops {
	int (*stop)(struct pause_unit *u);               /* arms; disarms again where it fails */
	int (*settled)(struct pause_unit *u);            /* as pause_settled() */
	bool (*stopped)(const struct pause_unit *u);     /* as pause_stopped() */
	bool (*resume)(struct pause_unit *u, bool look); /* as pause_resume(); does not disarm */
	int64_t (*ran_ns)(const struct pause_unit *u);   /* as pause_ran_ns() */
};

/* Opened and closed by the main thread; between that, the stopping thread alone uses it in a block.
 * The order in which its slot's state and the process change is in held.h. */
struct pause_unit {
	const struct pause_ops *ops;
	struct held_file *held;
	int slot;
	enum held_kind kind;
	pid_t pid;       /* of a process */
	clockid_t clock; /* likewise: its processor time */
	int fd[3]; /* process: pidfd, /proc/PID/status, /proc/PID/task; cgroup: switch, state */
};

/* A unit with its slot taken and no descriptors, or NULL with errno. */
struct pause_unit *pause_new(const struct pause_ops *ops, struct held_file *h, enum held_kind kind,
	pid_t pid, uint64_t starttime, const char *dir);
