/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the processes of the programs of a trial or a sweep by a mark in their environment,
 * wherever they run. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"

/*
 * A trial, and a sweep of poppa gpu, start each program with a mark in its environment,
 * "POPPA_TRIAL=TOKEN.SLOT". What a program starts inherits the mark, also where another daemon
 * starts it (srun's tasks are children of slurmstepd). A process without the mark belongs to the
 * program of its parent. So does one that has changed its environment or its parent after it was
 * found once.
 */
#define TAGGED_NAME "POPPA_TRIAL"
#define TAGGED_TOKEN_SIZE 40
#define TAGGED_MARK_SIZE (TAGGED_TOKEN_SIZE + 32)

/* The slot of a child of this process that has neither a mark nor such a parent: a program's, as
 * this process starts nothing else, but nobody knows which program's. */
#define TAGGED_UNKNOWN 255
/* Slots are 0 to this number less one. */
#define TAGGED_SLOTS 16

struct tagged_process {
	pid_t pid;
	uint64_t starttime; /* as in struct proc_stat */
	int slot;
	int threads;
	uint64_t ticks; /* processor time of its own, as in struct proc_stat */
	char state;     /* of its first thread; zombies are not listed */
};

/* Makes a token that no other trial has. */
void tagged_token(char token[TAGGED_TOKEN_SIZE]);

/* Writes the mark of a slot, for putenv(). */
void tagged_mark(const char *token, int slot, char mark[TAGGED_MARK_SIZE]);

struct tagged_watch; /* what is known of the processes of this host */

/* other: a child of this process that belongs to no program, or 0. NULL where memory is short. */
struct tagged_watch *tagged_watch_new(const char *token, pid_t other);
void tagged_watch_free(struct tagged_watch *w);

/*
 * Looks at the host's processes. Returns how many live ones belong to the programs, and *list, by
 * ascending pid, which the watch owns until the next look; or -1 with err. A process that this user
 * may not look at is not one of them, unless its parent is.
 */
int tagged_look(struct tagged_watch *w, const struct tagged_process **list, struct errmsg *err);

/*
 * Kills all of them, also those that are stopped, until none is left, and reaps those that are
 * children of this process, other than `other`. Returns how many still live after wait_ns, which
 * are those that the kernel cannot end now (or -1 with err).
 */
int tagged_kill_all(struct tagged_watch *w, int64_t wait_ns, struct errmsg *err);
