/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts and stops the settler's two threads, and tells them of runs that end. */
#include "plugins/compat/slurm_compat.h"

#include <limits.h>
#include <pthread.h>

#include "common/clock.h"
#include "common/units.h"

#include "arrivals.h"
#include "controller.h"
#include "settler.h"
#include "settler_worker.h"

SLURM_WEAK(slurmctld_config)

#define STOP_WAIT_S 5

/*
 * The worker settles; the keeper writes arrivals to a file that the worker leaves for a while. A
 * stop waits for both only while slurmctld ends: settler_stop() may be called with Slurm's locks,
 * for which they may be waiting. So a stop may leave threads behind, which end by themselves, and
 * the next start does not wait for them either.
 *
 * Locks: `turn` is the worker's for all of its life, so a worker that a stop has left behind ends
 * before the next one begins. `lock` is held for moments only, and Slurm's threads take it in an
 * epilog, under the job write lock: whoever has it takes no lock but those of `arrivals`, and waits
 * for nothing.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake_worker, wake_keeper; /* with lock, on CLOCK_MONOTONIC */
static pthread_t worker, keeper;
/* Counts starts and stops, so it is odd while running. A thread has the number of its start, and
 * ends once that has passed. Guarded by lock. */
static unsigned generation;
static struct nodeconf conf_of_start; /* guarded by lock */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* taken before lock */
static struct settler of_worker;                         /* guarded by turn */

static bool stopped(const void *mine)
{
	bool over;

	pthread_mutex_lock(&lock);
	over = generation != *(const unsigned *)mine;
	pthread_mutex_unlock(&lock);
	return over;
}

/* Waits until that time or a signal; the lock is held. */
static void wait_until(pthread_cond_t *cond, int64_t ms)
{
	const struct timespec t = clock_spec(ms * NS_PER_MS);

	pthread_cond_timedwait(cond, &lock, &t);
}

/* The worker takes most of what arrives at once: only what it leaves for a while is written. */
static void *keep(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;

	pthread_mutex_lock(&lock);
	while (generation == mine) {
		int64_t due = clock_now_ms() + ROUND_MS;

		if (!arrivals_status().unsaved) {
			pthread_cond_wait(&wake_keeper, &lock);
			continue;
		}
		while (generation == mine && clock_now_ms() < due)
			wait_until(&wake_keeper, due);
		if (generation != mine || !arrivals_status().unsaved)
			continue;
		pthread_mutex_unlock(&lock);
		if (controller_hold()) {
			arrivals_save();
			controller_release();
		}
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *work(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;
	struct nodeconf host;
	struct arrivals_status waiting;
	int64_t next;
	bool last;

	pthread_mutex_lock(&turn);
	pthread_mutex_lock(&lock);
	host = conf_of_start;
	pthread_mutex_unlock(&lock);
	settler_worker_begin(&of_worker, &host);
	while (!stopped(&mine)) {
		settler_worker_round(&of_worker, stopped, &mine);
		next = settler_worker_next_ms(&of_worker);
		pthread_mutex_lock(&lock);
		/* Nobody was waiting for the signal of what arrived during the round. And a round
		 * in which slurmctld does not serve takes nothing. */
		waiting = arrivals_status();
		if (waiting.any || waiting.holding)
			next = clock_now_ms() + ROUND_MS;
		if (generation == mine)
			wait_until(&wake_worker, next);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	last = !(generation % 2);
	pthread_mutex_unlock(&lock);
	if (last)
		settler_worker_end(&of_worker);
	pthread_mutex_unlock(&turn);
	return NULL;
}

/* Setting the host's clock does not change how long anybody waits. */
static void make_conditions(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&wake_worker, &attr);
	pthread_cond_init(&wake_keeper, &attr);
	pthread_condattr_destroy(&attr);
}

/* Tells all running threads to end; the lock is held. */
static void end_threads(void)
{
	generation++;
	pthread_cond_broadcast(&wake_worker);
	pthread_cond_broadcast(&wake_keeper);
}

static void failed_to_start(void)
{
	error(ME ": jobs are not settled: cannot start a thread: %m");
	pthread_mutex_lock(&lock);
	end_threads();
	pthread_mutex_unlock(&lock);
}

void settler_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct errmsg err = {""};
	struct nodeconf host;
	char path[PATH_MAX];
	unsigned mine;

	pthread_once(&once, make_conditions);
	nodeconf_path(path, sizeof(path));
	if (nodeconf_load(path, &host, &err)) {
		error(ME ": jobs are not settled: %s", err.text);
		return;
	}
	pthread_mutex_lock(&lock);
	conf_of_start = host;
	mine = ++generation;
	pthread_mutex_unlock(&lock);
	if (pthread_create(&keeper, NULL, keep, (void *)(uintptr_t)mine)) {
		failed_to_start();
	} else if (pthread_create(&worker, NULL, work, (void *)(uintptr_t)mine)) {
		failed_to_start();
		pthread_join(keeper, NULL);
	}
}

/* The plugin stays mapped for threads that are left behind (nodelete in local.mk). */
void settler_stop(void)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	if (!(generation % 2)) {
		pthread_mutex_unlock(&lock);
		return;
	}
	end_threads();
	pthread_mutex_unlock(&lock);
	until = clock_wall_in(slurmctld_config.shutdown_time ? STOP_WAIT_S * NS_PER_S : 0);
	if (pthread_timedjoin_np(keeper, NULL, &until))
		pthread_detach(keeper);
	if (pthread_timedjoin_np(worker, NULL, &until))
		pthread_detach(worker);
}

void settler_queue(const job_record_t *job)
{
	struct run_snapshot *snapshot = run_snapshot_take(job);
	struct spread_run plain;
	struct run *run;

	if (!snapshot) {
		if (run_snapshot_plain(job, &plain))
			arrivals_add_plain(&plain);
		return;
	}
	run = run_new(snapshot);
	pthread_mutex_lock(&lock);
	if (generation % 2) {
		arrivals_add(run);
		pthread_cond_signal(&wake_worker);
		pthread_cond_signal(&wake_keeper);
	} else {
		run_free(run);
	}
	pthread_mutex_unlock(&lock);
}
