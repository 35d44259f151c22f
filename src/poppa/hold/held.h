/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of everything that poppad holds stopped, in memory that outlives poppad. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "poppa/hold/freezer.h"

#define HELD_ENTRIES 2048
#define HELD_PATH 480

enum held_kind { HELD_PROCESS = 1, HELD_FREEZER_V1, HELD_FREEZER_V2 };

/*
 * Who does what. One thread of poppad, the stopping thread (that of the shutter,
 * measure/shutter.c), stops and resumes. poppa-guard, another process, resumes what is still held
 * when a deadline has passed or poppad is dead; it never stops anything. poppad's main thread takes
 * and frees entries; it frees one only when no plan of the shutter names it any more. The two
 * processes share all of this memory.
 *
 * The state of an entry, `armed`, covers whatever a crash may leave stopped:
 *
 *   HELD_FREE      before held_arm()                              nothing is stopped
 *   HELD_STOPPING  from held_arm() to the end of the stop call    it may or may not be stopped
 *   HELD_STOPPED   from held_stopped() to held_resuming()         it is stopped
 *   HELD_RESUMING  from there to the end of the resume call       it may or may not be stopped
 *   HELD_FREE      after the resume call                          nothing is stopped
 *
 * At most one entry is HELD_STOPPING or HELD_RESUMING, as one thread does one thing after the
 * other. A cgroup goes from HELD_STOPPED to HELD_FREE: no signal stops it, so to thaw it twice is
 * harmless.
 *
 * What the guard does with an entry while poppad lives:
 *  - HELD_STOPPED: it resumes the process once and sets HELD_FREE. It must not resume it again, as
 *    somebody else may have stopped the process since.
 *  - HELD_STOPPING: the stop call may come later, and a resume before it would be lost. Where the
 *    guard sees that the stopping thread hangs inside a call that sends a signal, the signal has
 *    been sent, so the entry is treated as HELD_STOPPED (held_late() keeps the thread from stopping
 *    more). Otherwise the guard resumes the process, leaves the entry HELD_STOPPING and looks
 *    later: each time that the stopping thread has run since (`woken_ns`), it may have stopped the
 *    process again, and the guard resumes it again.
 *  - HELD_RESUMING: where the stopping thread hangs inside a call that sends a signal, SIGCONT has
 *    been sent. If the process is stopped now, somebody else has stopped it: the guard only frees
 *    the entry. Otherwise it does as with HELD_STOPPED.
 * Once poppad is dead, no stop can come: the guard resumes and frees all of them.
 *
 * What remains: where the stopping thread hangs in the few instructions between a change of `armed`
 * and its system call, nobody can tell whether the call was made. The guard resumes the process
 * then, and undoes a stop that somebody else has sent since.
 *
 * The guard changes `armed` only by compare-and-exchange from the value that it has read, and the
 * stopping thread sets HELD_STOPPED and HELD_RESUMING only in the same way: whoever comes second
 * finds the entry changed and leaves it. After a crash of both processes, the next poppad
 * (held_repair()) resumes everything that is not HELD_FREE.
 */
enum held_state { HELD_FREE, HELD_STOPPING, HELD_STOPPED, HELD_RESUMING };

/* One thing that can be stopped. The members below `armed`, but for `woken_ns`, are written only
 * while it is HELD_FREE, and `generation` is written last. A reader reads `armed` and `generation`
 * before and after the rest: where neither has changed, all that it has read belongs together. */
struct held_entry {
	_Atomic uint32_t armed; /* enum held_state */
	_Atomic uint32_t kind;  /* enum held_kind; 0 = free */
	int32_t pid;
	_Atomic uint32_t generation; /* grows when the entry is taken for something else */
	uint64_t woken_ns; /* the guard's: processor time of the stopping thread when the guard last
			      resumed this entry as HELD_STOPPING, see held_release.c */
	uint64_t starttime;
	char path[HELD_PATH]; /* cgroup directory of a freezer */
};

struct held_file {
	char magic[8];
	uint32_t version;
	char boot_id[44];          /* entries of an earlier boot name nothing that exists */
	_Atomic uint32_t high;     /* entries in use are below this one */
	_Atomic uint32_t passed;   /* number of deadlines that have passed; the guard adds one
				      before it looks at the entries */
	uint32_t opened;           /* `passed` at held_open(); only poppad uses it */
	_Atomic uint32_t fired;    /* how often the guard resumed something after a deadline */
	_Atomic int32_t guard_pid; /* set by the guard when it is on watch */
	_Atomic uint32_t news;     /* grows when an entry is taken or freed, see held_wait_news() */
	_Atomic uint64_t fired_ns; /* CLOCK_MONOTONIC when `fired` last grew */
	/*
	 * A robust mutex that the stopping thread locks when it starts and never unlocks while it
	 * may stop anything. The guard waits for it: when the thread dies, the kernel gives the
	 * mutex to the guard at once. The process itself ends only 10 to 300 ms later, as its files
	 * are closed first (an inotify, a uprobe).
	 */
	pthread_mutex_t alive;
	_Atomic int32_t stopper; /* thread id of the stopping thread, 0 = not yet known */
	struct held_entry entry[HELD_ENTRIES];
};

/* Makes a new file at path in place of an old one (mappings of that stay valid), and maps it. *fd
 * is the open file, close-on-exec. Returns the mapping (held_unmap) or NULL with err. Also fails
 * where the old file still names something that is held stopped: nobody would resume it. */
struct held_file *held_create(const char *path, int *fd, struct errmsg *err);

/* Makes the caller the stopping thread: locks `alive` and sets `stopper`. 0, or -1 with errno. */
int held_live(struct held_file *h);

/* Waits until the thread that called held_live() has ended. Returns at once if there is none. */
void held_wait_death(struct held_file *h);

/* Waits until `news` is no longer `seen`: entries were taken or freed, or there is a new stopping
 * thread. May also return too early. */
void held_wait_news(struct held_file *h, uint32_t seen);

/* Maps an existing list; NULL with err where the file is none or of another version. */
struct held_file *held_map(int fd, struct errmsg *err);
void held_unmap(struct held_file *h);

/* Take and free entries; only one thread may do so. path is NULL for a process. held_take() returns
 * the entry's number, or -1 with errno (ENOSPC, ENAMETOOLONG). */
int held_take(
	struct held_file *h, enum held_kind kind, pid_t pid, uint64_t starttime, const char *path);
void held_free(struct held_file *h, int entry);

/* Gives the entry of a process, which must be HELD_FREE, to another process. The stopping thread
 * does this within a shutter, with entries that were taken before (new_tasks.c). */
void held_retake(struct held_file *h, int entry, pid_t pid, uint64_t starttime);

/* Call it before the first stop of a shutter and before its deadline is set. */
static inline void held_open(struct held_file *h)
{
	h->opened = atomic_load(&h->passed);
}

static inline void held_disarm(struct held_file *h, int entry)
{
	atomic_store(&h->entry[entry].armed, HELD_FREE);
}

/* Whether the deadline has passed since held_open(). */
static inline bool held_late(const struct held_file *h)
{
	return atomic_load(&h->passed) != h->opened;
}

/*
 * Call it before the stop call, with no other system call in between. False where the deadline has
 * passed since held_open(): nothing may be stopped then, as the guard may have looked at this entry
 * already. No stop escapes: this function sets `armed` and then reads `passed`, the guard
 * increments `passed` and then reads `armed`, and all four are sequentially consistent, so at least
 * one of the two sees what the other wrote.
 */
static inline bool held_arm(struct held_file *h, int entry)
{
	atomic_store(&h->entry[entry].armed, HELD_STOPPING);
	if (!held_late(h))
		return true;
	held_disarm(h, entry);
	return false;
}

/* Call it after the stop call. An entry that the guard has resumed meanwhile stays HELD_FREE. */
static inline void held_stopped(struct held_file *h, int entry)
{
	uint32_t was = HELD_STOPPING;

	atomic_compare_exchange_strong(&h->entry[entry].armed, &was, HELD_STOPPED);
}

/* Call it before SIGCONT, with no other system call in between. False where the guard has resumed
 * the process already: it must not be resumed again. */
static inline bool held_resuming(struct held_file *h, int entry)
{
	uint32_t was = HELD_STOPPED;

	return atomic_compare_exchange_strong(&h->entry[entry].armed, &was, HELD_RESUMING);
}

/* Whether poppad has to resume it: false where the guard has done so already. */
static inline bool held_ours(const struct held_file *h, int entry)
{
	return atomic_load(&h->entry[entry].armed) != HELD_FREE;
}

/* The files and words of a freezer of this kind. */
const struct freezer_words *held_freezer(enum held_kind kind);
