/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs all tasks: reads them, gives them to workers, and ends on time. */
#pragma once

#include "farm/farm_job.h"

enum farm_end {
	FARM_ALL,     /* each task is done or failed */
	FARM_SIGNAL,  /* SIGTERM or SIGINT came before that */
	FARM_TIME,    /* the time was over before that */
	FARM_TROUBLE, /* the input or the journal failed: err of farm_run() */
};

/* What poppa-farm shows while it works. */
struct farm_view {
	const struct farm_counts *counts;
	uint64_t waiting, running;
	bool complete; /* no more tasks come */
	double seconds;
};

struct farm_watch {
	/* Some times a second. May be NULL. */
	void (*progress)(const struct farm_view *view, void *arg);
	/* A task failed for good, or a line is none: one line of text. */
	void (*failed)(const char *text, void *arg);
	void *arg;
};

/*
 * Blocks SIGCHLD, SIGTERM and SIGINT for the calling thread. cpus are the processors of the
 * workers, or -1. sums gets what each of o->workers workers did. Returns how it ended; all that it
 * started has ended then.
 */
enum farm_end farm_run(const struct farm_options *o, const int *cpus,
	const struct farm_watch *watch, struct farm_counts *counts, struct farm_worker_sum *sums,
	struct errmsg *err);
