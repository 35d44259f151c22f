/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On which PUs the tasks of several applications should run, by what their counters tell. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errmsg.h"

/*
 * After "Coherence Stalls or Latency Tolerance: Informed CPU Scheduling for Socket and Core
 * Sharing" (USENIX ATC 2016; SAM-MPH, section 4). Tasks that share data belong on one socket; which
 * applications come first is told by the cycles that they stand still for a line of another socket;
 * tasks that keep a core busy do not share one; and nothing moves for what is over in a moment.
 * The library decides only: it reads no counter and moves no task.
 */

/* The published constants, which are of machines of about 2 GHz, and those that are not published.
 */
struct mapper_settings {
	double high_coherence; /* inter-socket coherence events a cycle, above which an application
				  shares much: 0.78e-3 */
	double low_coherence;  /* below it shares nothing that matters. Not published: half of that
				*/
	double high_ipc;  /* instructions a cycle, above which tasks should not share a core: 0.9 */
	double hyper_spc; /* stalled cycles a coherence event, above which tasks should share cores:
			     550 */
	double high_misses; /* DRAM accesses a cycle, above which memory is what a task needs most.
			       Not published: 5e-3 */
	uint32_t history;   /* so many intervals are remembered, up to 64: 10 */
	uint32_t majority;  /* in more of them than this something has to be seen: 6 */
};

extern const struct mapper_settings mapper_defaults;

/* Reads "high_ipc=0.9,history=10"; what is not named stays. Returns 0, or -1 with err. */
int mapper_settings_parse(struct mapper_settings *s, const char *text, struct errmsg *err);

/* The PUs that there are, by place: each number once. A core's PUs follow each other, and so do a
 * socket's cores. */
struct mapper_pu {
	int pu;           /* the number by which the kernel calls it */
	int core, socket; /* from 0, all over the machine */
};

/* What a task has done in an interval (section 3.3). */
struct mapper_sample {
	int64_t task, app;             /* names, such as thread ids and process or job ids */
	int pu;                        /* where it has run */
	uint64_t instructions, cycles; /* unhalted cycles */
	uint64_t inter; /* coherence events between sockets: hits in a remote cache */
	uint64_t intra; /* coherence events within the socket: misses of the last private cache that
			   another one of the socket had */
	uint64_t local, remote; /* accesses to the memory of its socket, and to that of others */
	uint64_t stalls;        /* cycles stalled for misses of the last private cache */
};

enum mapper_coherence { MAPPER_LOW, MAPPER_MODERATE, MAPPER_HIGH };

/* What is known of an application after an interval. */
struct mapper_app {
	int64_t app;
	int tasks;
	enum mapper_coherence coherence;
	bool high_ipc, high_misses;
	double ipc; /* since the last change of class */
	double spc; /* likewise; NAN where it is not known: without much coherence it says nothing
		     */
};

struct mapper;

/* pus: of the tasks that are mapped, 1 to MAPPER_PUS_MAX; copied. Returns NULL where there is no
 * memory. */
struct mapper *mapper_create(
	const struct mapper_settings *settings, const struct mapper_pu *pus, int count);
void mapper_destroy(struct mapper *m);

#define MAPPER_PUS_MAX 4096

/*
 * Takes in an interval, 100 ms in the paper, and decides. sample: of all tasks that run; tasks and
 * applications that are not there any more are forgotten. to[i]: on which PU task i should run;
 * more tasks than PUs share them. Returns 0, or -1 with err where there is no memory or a task's PU
 * is unknown.
 */
int mapper_step(struct mapper *m, const struct mapper_sample *sample, int count, int *to,
	struct errmsg *err);

/* The applications of the last interval, in the order in which they were placed; the mapper's. */
const struct mapper_app *mapper_apps(const struct mapper *m, int *count);
