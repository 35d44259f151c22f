/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the pair history's file again whenever it has changed. */
#include "plugins/select_stripe/history.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/units.h"
#include "plugins/compat/select_compat.h"
#include "plugins/select_stripe/stripe.h"

SLURM_WEAK(slurm_conf)

#define LOOK_EVERY (3 * NS_PER_S)

/*
 * One thread reads the file every few seconds, without the lock, and takes the lock only to put the
 * new history in place of the old one. slurmctld's threads hold the lock between history_get() and
 * history_put(), so the history that they look at stays; they wait for no disk, as the thread does
 * not hold it while it reads. The lock is taken after select_stripe.c's.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t stop_cond = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running, stopping;
static struct pairs *pairs; /* NULL until the file was read first */

static char path[PATH_MAX]; /* written before the thread starts, read by it alone */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void look(struct stat *last)
{
	struct stat now = {0};
	struct pairs *fresh;
	struct errmsg err;
	int bad = 0;

	if (stat(path, &now))
		memset(&now, 0, sizeof(now));
	if (same_file(&now, last))
		return;
	*last = now;
	fresh = pairs_load(path, &bad, &err);
	if (!fresh) {
		error(STRIPE "%s; the last good pair history stays in use", err.text);
		return;
	}
	if (bad)
		error(STRIPE "%s: %d lines could not be read and were passed over", path, bad);
	pthread_mutex_lock(&lock);
	pairs_free(pairs);
	pairs = fresh;
	pthread_mutex_unlock(&lock);
}

static void *follow(void *arg)
{
	struct stat last = {0};

	(void)arg;
	pthread_mutex_lock(&lock);
	while (!stopping) {
		struct timespec until;

		pthread_mutex_unlock(&lock);
		look(&last);
		until = clock_wall_in(LOOK_EVERY);
		pthread_mutex_lock(&lock);
		if (!stopping)
			pthread_cond_timedwait(&stop_cond, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

void history_start(void)
{
	pthread_mutex_lock(&lock);
	if (!running && slurm_conf.state_save_location) {
		snprintf(path, sizeof(path), "%s/" PAIRS_FILE, slurm_conf.state_save_location);
		stopping = false;
		running = !pthread_create(&thread, NULL, follow, NULL);
		if (!running)
			error(STRIPE "no thread for the pair history: partners are chosen without");
	}
	pthread_mutex_unlock(&lock);
}

void history_stop(void)
{
	bool join;

	pthread_mutex_lock(&lock);
	join = running;
	running = false;
	stopping = true;
	pthread_cond_signal(&stop_cond);
	pthread_mutex_unlock(&lock);
	if (join)
		pthread_join(thread, NULL);
	pairs_free(pairs);
	pairs = NULL;
}

const struct pairs *history_get(void)
{
	pthread_mutex_lock(&lock);
	return pairs;
}

void history_put(void)
{
	pthread_mutex_unlock(&lock);
}
