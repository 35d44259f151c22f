/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two halves of the mapper share: what applications are like, and where their tasks go. */
#pragma once

#include "mapper/mapper.h"

/* An application from one interval to the next (section 4.3). */
struct app_state {
	struct mapper_app known; /* first: what mapper_apps() shows */
	/* One bit for each interval, the last one lowest, in which this was seen. */
	uint64_t moderate, high, busy;
	/* Sums since its class has changed, without intervals in which it was together already. */
	double stalls, inter, instructions, cycles;
	bool seen;
	int first; /* of its samples, when they are sorted by application */
};

struct mapper {
	struct mapper_settings set;
	struct mapper_pu *pus;
	int pu_count, cores, sockets;
	struct app_state *apps;
	int app_count, app_room;
	struct mapper_app *shown; /* of mapper_apps() */
	int shown_count, shown_room;
	/* Of one interval: */
	int *order; /* the samples by application */
	int order_room;
	/* By core: tasks, those of high IPC among them, and those of the application that is being
	 * placed. */
	int *core_tasks, *core_busy, *core_own;
	int *pu_tasks; /* by place of the PU */
	int *socket_tasks, *socket_hogs, *socket_pus;
};

/* Takes the samples in: m->apps are those that run, with what they are like now. order has the
 * samples by application. Returns 0, or -1 with err. */
int mapper_classify(
	struct mapper *m, const struct mapper_sample *sample, int count, struct errmsg *err);

/* Places all tasks by what m->apps are like, those first that gain most. */
void mapper_place(struct mapper *m, const struct mapper_sample *sample, int *to);
