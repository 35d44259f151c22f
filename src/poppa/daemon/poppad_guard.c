/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps a guard running, because there are no shutters without one. */
#include "poppa/daemon/poppad.h"

#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"

#define GUARD_RETRY_S 5

static const struct timeval retry = {.tv_sec = GUARD_RETRY_S};

void poppad_allow(struct poppad *d)
{
	if (d->jobs)
		jobs_allow(d->jobs, d->guarded && !d->held_off);
}

static void on_guard_died(evutil_socket_t fd, short what, void *arg);

void poppad_watch_guard(struct poppad *d)
{
	struct errmsg err = {""};

	if (guard_start(&d->guard, d->held, d->held_fd, &err)) {
		if (!d->told_guard)
			plog_error("no shutters without a guard: %s", err.text);
		d->told_guard = true;
		evtimer_add(d->guard_retry, &retry);
		return;
	}
	if (d->guard_event)
		event_free(d->guard_event);
	d->guard_event = event_new(d->base, d->guard.pidfd, EV_READ, on_guard_died, d);
	event_add(d->guard_event, NULL);
	d->guarded = true;
	d->guard_since = clock_now();
	d->told_guard = false;
	poppad_allow(d);
}

/* Withdraws the plan first: after that nothing is stopped, and another guard may be started. */
static void on_guard_died(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	plog_warn("the guard, process %d, has died: starting another one", (int)d->guard.pid);
	d->guarded = false;
	poppad_allow(d);
	event_free(d->guard_event);
	d->guard_event = NULL;
	guard_stop(&d->guard);
	/* A guard that dies again and again must not keep poppad busy. */
	if (clock_now() - d->guard_since < GUARD_RETRY_S * NS_PER_S)
		evtimer_add(d->guard_retry, &retry);
	else
		poppad_watch_guard(d);
}

static void on_guard_retry(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	poppad_watch_guard(arg);
}

void poppad_guard_events(struct poppad *d)
{
	d->guard_retry = evtimer_new(d->base, on_guard_retry, d);
}
