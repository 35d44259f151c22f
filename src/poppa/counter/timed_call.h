/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes calls that may wait for a user's file system, which may be dead, and gives up on them. */
#pragma once

#include <sys/types.h>

#define TIMED_CALL_WAIT_MS 500
#define TIMED_CALL_LATE 2 /* calls of one user that may be late at a time */

/*
 * Runs run(arg) in a thread of its own and waits for its end, for TIMED_CALL_WAIT_MS at most.
 * 0: arg is the caller's again. -1: arg is not, but goes to drop() when run() has ended, with
 * errno: ETIMEDOUT where run() is late; EBUSY where TIMED_CALL_LATE calls for this owner (who owns
 * the file) are late, so that one more was not made; else why there is no thread. A late thread
 * ends with the process, at the latest when the file system answers.
 */
int timed_call(uid_t owner, void (*run)(void *), void (*drop)(void *), void *arg);

/* Whose file a task's is taken to be: its real user's. The owner of its /proc/PID is root where the
 * user may execute the program and not read it. */
uid_t timed_call_owner(pid_t pid);

/* Starts a thread that nobody waits for, with all signals blocked: the main thread handles them.
 * 0, or an error number. */
int timed_call_thread(const char *name, void *(*start)(void *), void *arg);
