/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closes files in the background whose close takes long. */
#include "poppa/counter/background_close.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_SIZE (64 * 1024)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static bool running;
static int *queue;
static size_t queued, room;

static void *background_close_main(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "poppad-closer");
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
	pthread_cond_broadcast(&idle);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Under lock. The thread blocks all signals: the main thread handles them. */
static bool start(void)
{
	sigset_t all, old;
	pthread_attr_t ta;
	pthread_t thread;

	sigfillset(&all);
	pthread_attr_init(&ta);
	pthread_attr_setstacksize(&ta, STACK_SIZE);
	pthread_attr_setdetachstate(&ta, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	running = !pthread_create(&thread, &ta, background_close_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&ta);
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

void background_close_wait(void)
{
	pthread_mutex_lock(&lock);
	while (running)
		pthread_cond_wait(&idle, &lock);
	pthread_mutex_unlock(&lock);
}
