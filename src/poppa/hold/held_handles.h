/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the files open that are needed to look at each held thing and to resume it. */
/* Opening a file takes memory of the cgroup, which poppad and its guard share. Where poppad has
 * used it up, the guard would wait until poppad is killed for it, which takes longer than anything
 * may be held. */
#pragma once

#include "poppa/hold/held.h"
#include "poppa/hold/proc_watch.h"

struct held_handle {
	int act;    /* descriptor of the process, or of the file that thaws the cgroup */
	int status; /* /proc/PID/status of the process; -1 where there is none */
};

/* Opens what an entry needs; s is a copy of it. 0, or -1 with errno (ESRCH, ENOENT: it is gone). */
int held_handle_open(const struct held_entry *s, struct held_handle *out);
void held_handle_close(struct held_handle *h);

struct held_handles;

/* Makes room for all entries, for as long as the process lives. NULL with errno. */
struct held_handles *held_handles_new(void);

/* Opens what is missing for the entries in use and for the stopping thread, and closes what is no
 * longer needed. One thread at a time, which need not be the one that borrows. */
void held_handles_prepare(struct held_handles *hs, const struct held_file *h);

/* Borrows what was prepared for this generation of an entry. NULL where there is nothing or where
 * it is being replaced at this moment: never waits. Give it back soon, as held_handles_prepare()
 * waits for it. hs may be NULL. */
const struct held_handle *held_handles_borrow(
	struct held_handles *hs, int entry, uint32_t generation);
void held_handles_give_back(struct held_handles *hs, int entry);

/* The same for the stopping thread. */
const struct proc_watch *held_handles_borrow_stopper(struct held_handles *hs, pid_t tid);
void held_handles_give_back_stopper(struct held_handles *hs);
