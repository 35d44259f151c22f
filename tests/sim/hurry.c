/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into slurmctld beside wallclock.c, lets it wait by the clock that was set, and not so
 * long. */
/*
 * A wait until a time of the wall clock ends HURRY times as soon, seen from now, as whoever sets
 * the clock does not want to sit out the pauses of schedulers. Waits until a time of
 * CLOCK_MONOTONIC, which are known by their small numbers, are as they are.
 */
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define HURRY 20
#define NS_PER_S INT64_C(1000000000)
/* No machine has been up for so long, and the wall clock is later than that. */
#define MONOTONIC_MOST_S INT64_C(1000000000)

static int64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * NS_PER_S + t->tv_nsec;
}

int pthread_cond_timedwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	struct timespec now, end;
	int64_t left;

	if (until->tv_sec < MONOTONIC_MOST_S)
		return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, until);
	clock_gettime(CLOCK_REALTIME, &now);
	left = ns_of(until) - ns_of(&now);
	clock_gettime(CLOCK_MONOTONIC, &end);
	left = ns_of(&end) + (left > 0 ? left / HURRY : 0);
	end = (struct timespec){left / NS_PER_S, left % NS_PER_S};
	return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &end);
}

int usleep(useconds_t us)
{
	const int64_t ns = (int64_t)us * 1000 / HURRY;
	const struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};

	return nanosleep(&t, NULL);
}
