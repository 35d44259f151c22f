/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of shutters share: a list of held things, a stand-in for the guard, and a shutter.
 */
#pragma once

#include <sys/types.h>

#include "poppa/hold/guardctl.h"
#include "poppa/hold/held.h"
#include "poppa/measure/shutter.h"

extern char dir[64]; /* the test's folder */
extern struct held_file *held;
extern struct guard guard; /* alive, and nobody reads its timer */
extern struct shutter *shutter;
extern int notify_fd;

/* Makes all of these; the test has started its processes before. 0, or -1. */
int shutter_setup(void);

/* Ends and removes all, and these processes of the test. 0, or another number. */
int shutter_teardown(const pid_t *child, int children);

/* A plan of these processes, each a job of its own with ids from 10 on, with room for so many
 * windows beyond a block (shutter_plan_new()). The caller sets the period, and closes its units. */
struct shutter_plan *shutter_new_plan(const pid_t *child, int jobs, int beyond);
