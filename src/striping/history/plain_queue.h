/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands plain runs that have ended from slurmctld's threads to the one that learns from them. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "striping/history/job_names.h"
#include "striping/history/spread_gain.h"

/* So many wait at most of the users who share a slot, and there are so many slots. */
#define PLAIN_QUEUE_OF_SLOT 16
#define PLAIN_QUEUE_SLOTS 64

/* A plain run. It has its texts, as the job's record may be gone when it is taken. */
struct plain_run {
	uint32_t uid, cpus;
	double seconds;
	char name[JOB_NAMES_NAME_MAX], partition[SPREAD_PARTITION_MAX];
};

/*
 * A queue that does not grow: users are spread over slots, and a run whose slot is full is left
 * out. So a user who ends thousands of jobs a second leaves out those of few others, and it is only
 * experience. The lock is held while a slot is copied, and nobody who has it waits for anything.
 */
struct plain_queue {
	pthread_mutex_t lock;
	int waiting[PLAIN_QUEUE_SLOTS];
	struct plain_run run[PLAIN_QUEUE_SLOTS][PLAIN_QUEUE_OF_SLOT];
};
#define PLAIN_QUEUE_EMPTY                                                                          \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/* Adds a run, whose texts are copied and cut, or leaves it out. */
void plain_queue_add(struct plain_queue *q, const struct spread_run *run);

/* Takes the runs of a slot out of the queue; how many these are, 0 = it is empty. */
int plain_queue_take(struct plain_queue *q, struct plain_run run[PLAIN_QUEUE_OF_SLOT]);
