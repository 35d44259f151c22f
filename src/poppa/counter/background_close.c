/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closes files in the background whose close takes long. */
#include "poppa/counter/background_close.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "poppa/counter/timed_call.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool running;
static int *queue;
static size_t queued, room;

static void *background_close_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (queued) {
		int fd = queue[--queued];

		pthread_mutex_unlock(&lock);
		close(fd);
		pthread_mutex_lock(&lock);
	}
	free(queue);
	queue = NULL;
	room = 0;
	running = false;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Under lock. */
static bool start(void)
{
	running = !timed_call_thread("poppad-closer", background_close_main, NULL);
	return running;
}

/* Under lock. */
static bool put(int fd)
{
	if (queued == room) {
		size_t more = room ? 2 * room : 16;
		int *bigger = realloc(queue, more * sizeof(*bigger));

		if (!bigger)
			return false;
		queue = bigger;
		room = more;
	}
	queue[queued++] = fd;
	return true;
}

void background_close(int fd)
{
	bool taken;

	pthread_mutex_lock(&lock);
	taken = put(fd);
	if (taken && !running && !start()) {
		queued--;
		taken = false;
	}
	pthread_mutex_unlock(&lock);
	if (!taken)
		close(fd);
}
