/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of stopping and resuming share: a list of held things, and a process to stop. */
#pragma once

#include "poppa/hold/held.h"
#include "poppa/hold/proc.h"

/* The test's folder and the list's file in it. */
extern char dir[64], held_path[128];
extern struct held_file *held;
extern int held_fd;
extern pid_t child; /* waits */
extern struct proc_stat child_stat;

int pause_setup(void **state);
int pause_teardown(void **state);

/* The letter of the process' state; '?' once it is gone. */
char state_of(pid_t pid);

/* Waits until the process is stopped, or is not. A stop takes effect when the task has had its
 * turn: waits seconds, not for a fixed time. */
bool becomes(pid_t pid, bool stopped);
