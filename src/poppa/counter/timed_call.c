/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes calls that may wait for a user's file system, which may be dead, and gives up on them. */
#include "poppa/counter/timed_call.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/units.h"
#include "poppa/hold/proc.h"

#define STACK_SIZE (256 * 1024)
#define LATE_MAX 64 /* of all users */

/* Owned by its thread; while `awaited`, also by the caller. */
struct call {
	struct call *next; /* in the list of late ones */
	uid_t owner;
	void (*run)(void *);
	void (*drop)(void *);
	void *arg;
	bool awaited, ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static struct call *late;

int timed_call_thread(const char *name, void *(*start)(void *), void *arg)
{
	sigset_t all, old;
	pthread_attr_t ta;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_attr_init(&ta);
	pthread_attr_setstacksize(&ta, STACK_SIZE);
	pthread_attr_setdetachstate(&ta, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &ta, start, arg);
	if (!rc)
		pthread_setname_np(thread, name);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&ta);
	return rc;
}

uid_t timed_call_owner(pid_t pid)
{
	return proc_uid(pid);
}

static void *call_main(void *arg)
{
	struct call *c = arg;
	bool awaited;

	c->run(c->arg);
	pthread_mutex_lock(&lock);
	c->ended = true;
	awaited = c->awaited;
	if (awaited) {
		pthread_cond_broadcast(&ended);
	} else {
		struct call **at = &late;

		while (*at != c)
			at = &(*at)->next;
		*at = c->next;
	}
	pthread_mutex_unlock(&lock);
	if (!awaited) {
		c->drop(c->arg);
		free(c);
	}
	return NULL;
}

/* Whether so many calls are late that none more is made for this owner. Under lock. */
static bool too_many_late(uid_t owner)
{
	int all = 0, own = 0;

	for (const struct call *c = late; c; c = c->next) {
		all++;
		own += c->owner == owner;
	}
	return own >= TIMED_CALL_LATE || all >= LATE_MAX;
}

int timed_call(uid_t owner, void (*run)(void *), void (*drop)(void *), void *arg)
{
	const struct timespec until = clock_wall_in(TIMED_CALL_WAIT_MS * NS_PER_MS);
	struct call *c = malloc(sizeof(*c));
	int rc = c ? 0 : ENOMEM;

	pthread_mutex_lock(&lock);
	if (!rc && too_many_late(owner))
		rc = EBUSY;
	if (!rc) {
		*c = (struct call){NULL, owner, run, drop, arg, true, false};
		rc = timed_call_thread("poppad-file", call_main, c);
	}
	if (rc) {
		pthread_mutex_unlock(&lock);
		free(c);
		drop(arg);
		errno = rc;
		return -1;
	}
	while (!c->ended && !rc)
		rc = pthread_cond_timedwait(&ended, &lock, &until);
	c->awaited = false;
	if (c->ended) {
		free(c);
		rc = 0;
	} else {
		c->next = late;
		late = c;
	}
	pthread_mutex_unlock(&lock);
	errno = rc;
	return rc ? -1 : 0;
}
