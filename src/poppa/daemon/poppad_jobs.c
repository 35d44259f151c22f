/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakes the table of jobs when it has something to do, and lets poppad sleep otherwise. */
#include "poppa/daemon/poppad.h"

#include <malloc.h>

#include "common/log.h"

#define TICK_S 1

/* Without jobs, poppad is not woken up. */
static void set_tick(struct poppad *d)
{
	const struct timeval second = {.tv_sec = TICK_S};
	bool wanted = d->jobs && jobs_count(d->jobs) > 0;

	if (wanted == d->ticking)
		return;
	d->ticking = wanted;
	if (wanted)
		evtimer_add(d->tick, &second);
	else
		evtimer_del(d->tick);
}

static void set_look(struct poppad *d)
{
	int ms = d->jobs ? jobs_look_ms(d->jobs) : 0;
	const struct timeval t = {.tv_usec = ms * 1000};

	if (ms && !evtimer_pending(d->look, NULL))
		evtimer_add(d->look, &t);
}

/* Without jobs that are mapped, nothing is due. */
static void set_map(struct poppad *d)
{
	int ms = jobs_map_ms(d->jobs);
	const struct timeval t = {.tv_usec = ms * 1000};

	if (ms && !evtimer_pending(d->map, NULL))
		evtimer_add(d->map, &t);
}

static void on_map(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	jobs_map(d->jobs);
	set_map(d);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	jobs_look(d->jobs);
	set_look(d);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	jobs_tick(d->jobs);
	set_tick(d);
	set_look(d);
	set_map(d);
	if (!d->ticking)
		malloc_trim(0);
}

static void on_block(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	if (d->jobs)
		jobs_block(d->jobs);
	set_look(d);
}

static void start_jobs(struct poppad *d)
{
	const struct jobs_env env = {.dir = d->paths.jobs,
		.conf = &d->conf,
		.settings = &d->settings,
		.cluster = &d->cluster,
		.held = d->held,
		.shutter = d->shutter,
		.spool = &d->spool,
		.sender = d->sender,
		.node_type = d->node_type,
		.log = &d->log};

	d->jobs = jobs_new(&env);
	if (!d->jobs) {
		plog_error("out of memory");
		return;
	}
	poppad_allow(d);
	jobs_sync(d->jobs);
	set_tick(d);
}

void poppad_configure_jobs(struct poppad *d)
{
	if (d->jobs)
		jobs_reconfigured(d->jobs);
	else
		start_jobs(d);
}

void poppad_sync_jobs(struct poppad *d)
{
	if (!d->jobs)
		return;
	jobs_sync(d->jobs);
	set_tick(d);
	set_look(d);
}

void poppad_jobs_events(struct poppad *d)
{
	d->tick = event_new(d->base, -1, EV_PERSIST, on_tick, d);
	d->look = evtimer_new(d->base, on_look, d);
	d->map = evtimer_new(d->base, on_map, d);
	d->block_event = event_new(d->base, d->block_fd, EV_READ | EV_PERSIST, on_block, d);
	event_add(d->block_event, NULL);
}
