/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakes up on each processor all the time and keeps when that was late. */
#include "witness.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/units.h"
#include "poppa/hold/guardctl.h"

#define STEP NS_PER_MS
#define LATE (500 * NS_PER_US) /* less is usual */
#define KEPT 256
#define MAX_CPUS 64
#define STACK_SIZE (64 * 1024)

struct delay {
	int64_t from, to;
};

/* Read while it is written: half of a new delay with half of an old one ends before it begins. */
static struct witness {
	_Atomic int64_t due; /* when it is to wake up next */
	struct {
		_Atomic int64_t from, to;
	} delay[KEPT]; /* the last ones, a ring */
} witness[MAX_CPUS];

static int witnesses;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void *stand_by(void *arg)
{
	struct witness *w = arg;

	for (int next = 0;;) {
		int64_t due = now() + STEP, woke;
		struct timespec t = {due / NS_PER_S, due % NS_PER_S};

		w->due = due;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			;
		woke = now();
		if (woke - due < LATE)
			continue;
		w->delay[next].from = due;
		w->delay[next].to = woke;
		next = (next + 1) % KEPT;
	}
	return NULL;
}

int witness_start(void)
{
	struct sched_param first = {.sched_priority = GUARD_PRIORITY + 1};
	pthread_attr_t ta;
	pthread_t thread;
	cpu_set_t all;
	int rc = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return -1;
	pthread_attr_init(&ta);
	pthread_attr_setstacksize(&ta, STACK_SIZE);
	pthread_attr_setinheritsched(&ta, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&ta, SCHED_FIFO);
	pthread_attr_setschedparam(&ta, &first);
	for (int cpu = 0; cpu < CPU_SETSIZE && witnesses < MAX_CPUS && !rc; cpu++) {
		struct witness *w = &witness[witnesses];
		cpu_set_t own;

		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&own);
		CPU_SET(cpu, &own);
		w->due = INT64_MAX;
		pthread_attr_setaffinity_np(&ta, sizeof(own), &own);
		rc = pthread_create(&thread, &ta, stand_by, w);
		witnesses += !rc;
	}
	pthread_attr_destroy(&ta);
	errno = rc;
	return rc ? -1 : 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct delay *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Adds the part of a delay that lies between a and b. */
static int clip(struct delay *out, int count, struct delay d, int64_t a, int64_t b)
{
	if (d.from < a)
		d.from = a;
	if (d.to > b)
		d.to = b;
	if (d.from < d.to)
		out[count++] = d;
	return count;
}

int64_t witness_lost(int64_t a, int64_t b)
{
	static struct delay all[MAX_CPUS * (KEPT + 1)];
	int64_t lost = 0, until = a;
	int count = 0;

	for (int i = 0; i < witnesses; i++) {
		struct witness *w = &witness[i];
		int64_t due = w->due;

		for (int n = 0; n < KEPT; n++)
			count = clip(
				all, count, (struct delay){w->delay[n].from, w->delay[n].to}, a, b);
		/* It waits at this moment. */
		if (now() - due >= LATE)
			count = clip(all, count, (struct delay){due, b}, a, b);
	}
	qsort(all, count, sizeof(all[0]), by_begin);
	for (int i = 0; i < count; i++) {
		if (all[i].from > until)
			until = all[i].from;
		if (all[i].to > until) {
			lost += all[i].to - until;
			until = all[i].to;
		}
	}
	return lost;
}
