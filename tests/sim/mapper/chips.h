/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A simulated machine of sockets, cores and hyperthreads, and what its tasks' counters show. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mapper/mapper.h"

#define CHIP_TASKS_MAX 256
#define CHIP_APPS_MAX 64

/* What an application of the simulation is like. */
struct chip_app {
	const char *name;
	double ipc;       /* of a task with a core of its own, without waiting */
	double coherence; /* events in a thousand instructions: lines that another task has written
			   */
	double spc;       /* cycles stalled for one of another socket */
	double misses;    /* DRAM accesses in a thousand instructions */
	int period; /* for so many intervals it shares data, and for as many it does not; 0: always
		     */
};

struct chip_task {
	int app;  /* index */
	int pu;   /* where it runs */
	int home; /* the socket that has its memory: where it began and touched it first */
};

struct chip {
	int sockets, cores, threads; /* cores of a socket, threads of a core */
	struct chip_app app[CHIP_APPS_MAX];
	int apps;
	struct chip_task task[CHIP_TASKS_MAX];
	int tasks;
	int interval;
	double work[CHIP_TASKS_MAX]; /* instructions so far */
};

#define CHIP_CYCLES 200000000.0 /* of an interval: 100 ms at 2 GHz */

int chip_core(const struct chip *c, int pu);
int chip_socket(const struct chip *c, int pu);

/* Deals the tasks of all applications out one by one: sockets in turn, first one on each core. */
void chip_spread(struct chip *c);

/* Runs an interval: adds to work, and tells the counters as the mapper wants them. */
void chip_run(struct chip *c, struct mapper_sample *sample);
