/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the files behind jobs.h share: a table in memory, counters and a clock made up.
 */
#pragma once

#include "poppa/node/jobs_impl.h"

struct counter {
	enum counter_backend kind;
	int error;   /* what counter_refresh() fails with; 0: nothing */
	bool misses; /* that are counted */
};

/* The table, and what it works with. JOBS_TEST() makes all of it anew. */
extern struct jobs js;
extern struct poppa_settings settings;
extern struct nodeconf conf;
extern int64_t now;         /* CLOCK_MONOTONIC, ns */
extern int counters_closed; /* so far */
extern int shutter_locks;   /* that are held; drop_table() wants none */
extern char logged[4096];   /* all lines of the log */

int make_table(void **state);
int drop_table(void **state);
#define JOBS_TEST(f) cmocka_unit_test_setup_teardown(f, make_table, drop_table)

/* Adds a running job that can be stopped, with so many tasks, each with a counter of this kind
 * (COUNTER_NONE: with none). */
struct job *add_job(uint32_t id, int tasks, enum counter_backend kind);

/* The plan that was published last (NULL: none), and how often one was. */
extern struct shutter_plan *published;
extern int publications;

/* What slices of turns have taken since the table last asked. */
extern struct shutter_turned turned;
