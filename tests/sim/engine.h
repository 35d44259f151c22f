/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event loop. */
#pragma once

#include <stdio.h>

#include "sim/sim.h"

struct engine_options {
	FILE *dump; /* gets a line of CSV for each end of a run; NULL = none */
	/* Called now and then; NULL = never. */
	void (*progress)(const struct sim *s, void *arg);
	void *progress_arg;
};

#define ENGINE_DUMP_HEADER                                                                         \
	"policy,job,run,submit,start,end,how,lanes,nodes,class,shared_s,lost_s,capped\n"

/* Runs all jobs of s->work under s->policy, of which the world's members, `policy` and `nodes` are
 * set and all else is 0. s->measures has the result. 0, or -1 with err. Frees all else. */
int engine_run(struct sim *s, const struct engine_options *o, struct errmsg *err);

/* Starts a waiting job on these nodes, for backfill. */
void engine_start(struct sim *s, int job, const int *node, int nodes, int lanes);
