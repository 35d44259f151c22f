/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the guard, tells whether it lives, and sets the deadline that it enforces. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "poppa/hold/held.h"

/* The descriptors that are open in the guard when it starts, and its argument. */
#define GUARD_HELD_FD 3
#define GUARD_TIMER_FD 4
#define GUARD_POPPAD_FD 5
#define GUARD_ARGUMENT "--watch"

/* Real-time priorities: the guard must run whatever the shutter does. */
#define SHUTTER_PRIORITY 10
#define GUARD_PRIORITY 20

struct guard {
	pid_t pid;
	int pidfd;   /* readable when the guard is dead; -1 = not running */
	int timerfd; /* absolute CLOCK_MONOTONIC, shared with the guard */
};

/* Starts the guard and waits (at most 2 s) until it is on watch. *g holds descriptors until
 * guard_stop(). Returns 0, or -1 with err. */
int guard_start(struct guard *g, struct held_file *h, int held_fd, struct errmsg *err);

/* Whether the guard is neither dead nor stopped. One system call, to be made before each stop. */
bool guard_alive(const struct guard *g);

/* At when_ns the guard resumes whatever is armed; 0 cancels the deadline. 0, or -1 with errno. */
int guard_deadline(const struct guard *g, int64_t when_ns);

/* Ends the guard and frees its descriptors. Call with nothing armed. */
void guard_stop(struct guard *g);
