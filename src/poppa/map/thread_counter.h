/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of one thread what the mapper wants to know. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "mapper/mapper.h"

/*
 * Seven events are more than most processors count at a time. So there are two groups, each with
 * the cycles, and the kernel gives them the PMU in turns (section 3.3 of the paper has two periods
 * likewise). What a group counts is scaled by its own cycles.
 */
enum thread_event {
	THREAD_CYCLES,
	THREAD_INSTRUCTIONS,
	THREAD_INTER,
	THREAD_STALLS,
	THREAD_INTRA,
	THREAD_LOCAL,
	THREAD_REMOTE,
	THREAD_EVENTS
};

/* How to count them. Which events these are differs from one processor to the next. */
struct thread_events {
	struct perf_event_attr attr[THREAD_EVENTS];
	bool has[THREAD_EVENTS]; /* what is not counted stays 0 */
};

/* Reads MapEvents of poppa.conf: "inter=EVENT,stalls=EVENT,...", by libpfm4's names; inter is
 * needed. 0, or -1 with err that names the event. */
int thread_events_parse(const char *text, struct thread_events *out, struct errmsg *err);

#define THREAD_GROUPS 2
#define THREAD_GROUP_MOST 4 /* events of a group */

struct thread_counter {
	int fd[THREAD_EVENTS + 1]; /* the second group's cycles are the last one; -1 = none */
	uint64_t last[THREAD_GROUPS][THREAD_GROUP_MOST];
	uint64_t enabled[THREAD_GROUPS]; /* ns in which it ran while its group was to count */
};

/* Returns 0, or -1 with errno and err (ESRCH: the thread has ended). */
int thread_counter_open(
	const struct thread_events *e, pid_t tid, struct thread_counter *c, struct errmsg *err);

/* Begins to count: a counter that does not takes no room in the PMU, which others need. */
void thread_counter_start(struct thread_counter *c);

/* Ends that, and adds what was counted meanwhile to the counts of *out: nothing for a thread that
 * did not run. Returns 1, 0 where it is not known (the PMU had no room for one of its groups), or
 * -1 with errno. */
int thread_counter_stop(
	const struct thread_events *e, struct thread_counter *c, struct mapper_sample *out);

void thread_counter_close(struct thread_counter *c);
