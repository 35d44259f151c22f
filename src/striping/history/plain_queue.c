/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps a few plain runs of each user until somebody takes them. */
#include "striping/history/plain_queue.h"

#include <string.h>

/* Users who follow each other have different slots. */
static int slot_of(uint32_t uid)
{
	return (int)(uid % PLAIN_QUEUE_SLOTS);
}

static void copy(char *to, size_t size, const char *text)
{
	size_t length = text ? strnlen(text, size - 1) : 0;

	if (length)
		memcpy(to, text, length);
	to[length] = '\0';
}

void plain_queue_add(struct plain_queue *q, const struct spread_run *run)
{
	int slot = slot_of(run->uid);

	pthread_mutex_lock(&q->lock);
	if (q->waiting[slot] < PLAIN_QUEUE_OF_SLOT) {
		struct plain_run *to = &q->run[slot][q->waiting[slot]++];

		to->uid = run->uid;
		to->cpus = run->cpus;
		to->seconds = run->seconds;
		copy(to->name, sizeof(to->name), run->job_name);
		copy(to->partition, sizeof(to->partition), run->partition);
	}
	pthread_mutex_unlock(&q->lock);
}

int plain_queue_take(struct plain_queue *q, struct plain_run run[PLAIN_QUEUE_OF_SLOT])
{
	int count = 0;

	pthread_mutex_lock(&q->lock);
	for (int slot = 0; slot < PLAIN_QUEUE_SLOTS && !count; slot++) {
		count = q->waiting[slot];
		memcpy(run, q->run[slot], (size_t)count * sizeof(*run));
		q->waiting[slot] = 0;
	}
	pthread_mutex_unlock(&q->lock);
	return count;
}
