/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of what is held stopped at this moment, in memory that outlives poppad. */
#ifndef POPPA_HOLD_HELD_H
#define POPPA_HOLD_HELD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "poppa/hold/freezer.h"

#define HELD_SLOTS 2048
#define HELD_PATH 480

enum held_kind { HELD_PROCESS = 1, HELD_FREEZER_V1, HELD_FREEZER_V2 };

/*
 * What a slot's `armed` says. It is set before the stop call and cleared after the resume call, so
 * at any moment of a crash it covers what may be stopped. The guard clears what it has resumed of
 * HELD_STOPPED for good: a resume too many would wake what somebody else has stopped since. So it
 * does of HELD_STOPPING, of which there is one at most, where the stopping thread hangs in a call
 * by which it stops: that one is made, and held_late() is asked before the next. Else it cannot
 * know whether the stop is yet to come: it resumes that once, and again each time that the stopping
 * thread has run since.
 */
enum held_state { HELD_FREE, HELD_STOPPING, HELD_STOPPED };

/*
 * One thing that can be stopped. Everything but `armed` is written while that is HELD_FREE, `turn`
 * last: what was read of a slot is all of it if it was read after the `turn` that stands there now.
 */
struct held_slot {
	_Atomic uint32_t armed; /* enum held_state */
	_Atomic uint32_t kind;  /* enum held_kind; 0 = free */
	int32_t pid;
	_Atomic uint32_t turn; /* grows each time it is taken for something else */
	uint64_t woken_ns;     /* the guard's own: what the stopping thread had run, see held.c */
	uint64_t starttime;
	char path[HELD_PATH]; /* cgroup directory of a freezer */
};

struct held_file {
	char magic[8];
	uint32_t version;
	char boot_id[44];          /* slots of an earlier boot name nothing that exists */
	_Atomic uint32_t high;     /* slots in use are below this one */
	_Atomic uint32_t passed;   /* deadlines that the guard saw pass, before it looked around */
	uint32_t opened;           /* `passed` at held_open(); poppad's own */
	_Atomic uint32_t fired;    /* times the guard resumed because of a passed deadline */
	_Atomic int32_t guard_pid; /* set by the guard when it is on watch */
	_Atomic uint32_t news;     /* grows when a slot is taken or freed, see held_wait_news() */
	_Atomic uint64_t fired_ns; /* CLOCK_MONOTONIC of the last time */
	/*
	 * Robust, and locked for life by the thread that stops processes: when that thread dies the
	 * kernel hands it to the guard at once, long before the process with its open files is gone
	 * (closing an inotify or a uprobe takes 10 to 300 ms).
	 */
	pthread_mutex_t alive;
	_Atomic int32_t stopper; /* that thread, 0 = not yet known */
	struct held_slot slot[HELD_SLOTS];
};

/*
 * Makes a fresh file at path, replacing an old one (its mapping elsewhere stays valid), and maps
 * it. *fd is the open file, close-on-exec. Returns the mapping (held_unmap) or NULL with err: also
 * where the old one still names something that is held stopped, which nobody would resume then.
 */
struct held_file *held_create(const char *path, int *fd, struct errmsg *err);

/* Takes the lock of the living for the calling thread, which is to stop processes. 0, or -1 with
 * errno. */
int held_live(struct held_file *h);

/* Waits until the thread that called held_live() has ended. Returns at once if there is none. */
void held_wait_death(struct held_file *h);

/* Waits until slots have been taken or freed, or the stopping thread is known, since `news` was
 * `seen`; may return without any. */
void held_wait_news(struct held_file *h, uint32_t seen);

/* Maps an existing one; NULL with err when it is none or of another version. */
struct held_file *held_map(int fd, struct errmsg *err);
void held_unmap(struct held_file *h);

/* Take and free slots: one thread only. path is NULL for a process. Return the slot number, or -1
 * with errno (ENOSPC, ENAMETOOLONG). */
int held_take(
	struct held_file *h, enum held_kind kind, pid_t pid, uint64_t starttime, const char *path);
void held_free(struct held_file *h, int slot);

/* Gives a slot of a process that is not armed to another process: any thread, one at a time. */
void held_retake(struct held_file *h, int slot, pid_t pid, uint64_t starttime);

/* Before the first stop of a shutter, and before its deadline is set. */
static inline void held_open(struct held_file *h)
{
	h->opened = atomic_load(&h->passed);
}

static inline void held_disarm(struct held_file *h, int slot)
{
	atomic_store(&h->slot[slot].armed, HELD_FREE);
}

/* Whether the deadline has passed since held_open(). */
static inline bool held_late(const struct held_file *h)
{
	return atomic_load(&h->passed) != h->opened;
}

/*
 * Before the stop call, with no other system call in between. False where the deadline has passed
 * since held_open(): nothing may be stopped then, as the guard will not look again. Either this
 * sees that it has passed, or the guard sees the slot armed: each writes before it looks.
 */
static inline bool held_arm(struct held_file *h, int slot)
{
	atomic_store(&h->slot[slot].armed, HELD_STOPPING);
	if (!held_late(h))
		return true;
	held_disarm(h, slot);
	return false;
}

/* After the stop call. Where the guard has resumed it already it stays free. */
static inline void held_stopped(struct held_file *h, int slot)
{
	uint32_t was = HELD_STOPPING;

	atomic_compare_exchange_strong(&h->slot[slot].armed, &was, HELD_STOPPED);
}

/* Whether it is ours to resume: not if the guard came first. */
static inline bool held_ours(const struct held_file *h, int slot)
{
	return atomic_load(&h->slot[slot].armed) != HELD_FREE;
}

/* What stops a kind that is a freezer. */
const struct freezer_words *held_freezer(enum held_kind kind);

#endif
