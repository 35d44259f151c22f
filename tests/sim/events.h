/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is going to happen, by time. */
#pragma once

#include "sim/sim.h"

enum event_kind {
	EVENT_FINISH,  /* a job has made its progress */
	EVENT_LIMIT,   /* slurmctld looks at a job whose limit is about to end */
	EVENT_REQUEUE, /* a job is requeued, as when a node of it fails */
	EVENT_TURNS,   /* a job's nodes decide about turns */
	EVENT_LEARN,   /* a job tells what it has shown so far */
	EVENT_WAKE,    /* the patience of a waiting job ends */
};

struct event {
	double when;
	long order; /* of those at the same time the one that was added first comes first */
	enum event_kind kind;
	int job;
	unsigned int version; /* of the job: where it has another one now, the event is void */
};

/* Adds one; out of memory is noted in s->out_of_memory. */
void events_add(struct sim *s, double when, enum event_kind kind, int job);

/* Takes the next event that is not void and not after `until`; false where there is none. */
bool events_next(struct sim *s, double until, struct event *out);
