/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test itself as a program that publishes its progress, and PUs for it. */
#pragma once

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heartbeat/poppa_heartbeat.h"
#include "trial/runner.h"

#define BEATING "--beat"

static char own_path[PATH_MAX];
static int own_pu[2];
/* The first PUs that this process may use, both, and each; one is twice there where it is alone. */
static struct runner_pus both_pus = {own_pu, 2}, first_pu = {own_pu, 1},
			 second_pu = {own_pu + 1, 1};

/* For the begin of main(): with BEATING as argument it beats until it is killed. */
static inline void beat_if_asked(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], BEATING) != 0)
		return;
	if (poppa_heartbeat_open())
		exit(1);
	for (;;) {
		usleep(1000);
		poppa_heartbeat_add(1);
	}
}

static inline int find_own(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
	cpu_set_t mine;
	int found = 0;

	(void)state;
	assert_true(n > 0);
	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	for (int pu = 0; pu < CPU_SETSIZE && found < 2; pu++)
		if (CPU_ISSET(pu, &mine))
			own_pu[found++] = pu;
	assert_true(found > 0);
	if (found == 1) {
		own_pu[1] = own_pu[0];
		both_pus.count = 1;
	}
	return 0;
}
