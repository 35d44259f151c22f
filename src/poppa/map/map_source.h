/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the mapper's counts come from: the PMU, or a recording. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"
#include "mapper/mapper.h"
#include "poppa/map/thread_counter.h"

struct map_source;

#define MAP_THREADS_MAX 256 /* of a job: with more it is left alone */

/* By MapReplay of poppa.conf where that is set, else by MapEvents. NULL with err. */
struct map_source *map_source_new(const struct nodeconf *conf, struct errmsg *err);
void map_source_free(struct map_source *s); /* NULL is allowed */

/* What one thread is counted by; a recording needs nothing of it. */
struct map_counter {
	bool open;
	struct thread_counter pmu;
};

/* 0, or -1 with errno (ESRCH: the thread has ended) and err. */
int map_counter_open(struct map_source *s, pid_t tid, struct map_counter *c, struct errmsg *err);

void map_counter_start(struct map_source *s, struct map_counter *c);

/* As thread_counter_stop(); of a recording 1, with nothing added. */
int map_counter_stop(struct map_source *s, struct map_counter *c, struct mapper_sample *out);

void map_counter_close(struct map_counter *c);

/*
 * Gives the samples the counts of the recording's next interval; the first one follows the last.
 * The recorded applications' parts are played by the samples' ones in their order, and so are those
 * of the tasks of each; where there are more, the first part has another player. Without a
 * recording it does nothing.
 */
void map_source_play(struct map_source *s, struct mapper_sample *sample, int count);
