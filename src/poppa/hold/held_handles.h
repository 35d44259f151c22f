/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps open what is needed to look at each thing on the list and to resume it. */
/*
 * Opening a file takes memory of the process's cgroup. Where poppad has used up that of both, its
 * guard would wait until poppad is killed for it, which takes longer than anything may be held.
 */
#pragma once

#include "poppa/hold/held.h"
#include "poppa/hold/proc_watch.h"

struct held_handle {
	int act;    /* descriptor of the process, or the file by which the cgroup is thawed */
	int status; /* the process's /proc/PID/status; -1 where it has none */
};

/* Opens what is needed for one slot (a copy of it). 0, or -1 with errno (ESRCH, ENOENT: it is
 * gone). */
int held_handle_open(const struct held_slot *s, struct held_handle *out);
void held_handle_close(struct held_handle *h);

struct held_handles;

/* Room for all slots, or NULL with errno; to be freed. */
struct held_handles *held_handles_new(void);
void held_handles_free(struct held_handles *hs);

/* Opens what is missing for the slots in use and for the stopping thread, and closes what is not
 * needed any more. One thread at a time; it may be another thread than the one that borrows. */
void held_handles_prepare(struct held_handles *hs, const struct held_file *h);

/*
 * What was prepared for a slot in this turn of it. NULL where there is nothing, or where it is
 * being replaced at this moment: never waits. Must be given back soon, as held_handles_prepare()
 * waits for it. hs may be NULL.
 */
const struct held_handle *held_handles_borrow(struct held_handles *hs, int slot, uint32_t turn);
void held_handles_give_back(struct held_handles *hs, int slot);

/* The same for the stopping thread. */
const struct proc_watch *held_handles_borrow_stopper(struct held_handles *hs, pid_t tid);
void held_handles_give_back_stopper(struct held_handles *hs);
