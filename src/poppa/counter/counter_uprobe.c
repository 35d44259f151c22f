/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the calls of a function in an unmodified program. */
/* The kernel puts a breakpoint on the function and counts the hits. The probe stays on from open to
 * close and samples are subtracted, as switching it on or off takes milliseconds. */
#include "poppa/counter/counter_backend.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"
#include "poppa/counter/background_close.h"
#include "poppa/counter/symbol.h"
#include "poppa/counter/timed_call.h"

#define PMU_TYPE "/sys/bus/event_source/devices/uprobe/type"

struct uprobe {
	struct counter_threads threads;
	char path[PATH_MAX]; /* through which the kernel finds the probed file */
	uint64_t offset;
	uint32_t pmu;
	char name[512];    /* FILE:SYMBOL, copied from the configuration, which may change */
	uid_t owner;       /* whose task it is */
	double call_ns;    /* what a call costs the task */
	int64_t looked_ns; /* when watch_rate() last looked */
};

/* The cost of a probed call, rounded up from what tests/unit/poppa/counter/test_counter_uprobe.c
 * measures, and the share of a thread's time above which a probe is given up, as no discount is
 * worth a slower job. */
#define CHEAP_NS 1000.0
#define DEAR_NS 15000.0
#define MAX_SHARE 0.1
#define LOOK_EVERY (200 * NS_PER_MS)

/* After a symbol: the administrator accepts what each call costs. */
#define DESPITE_COST '!'

static int no_function(struct errmsg *err)
{
	return counter_fail(ENODATA, err,
		"uprobe: no function is configured; add Uprobe=FILE:SYMBOL to poppa.conf");
}

static bool uprobe_available(const struct nodeconf *conf, struct errmsg *err)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	int pmu = counter_number_in(PMU_TYPE, -1), fd;

	if (conf && !conf->uprobe_count) {
		no_function(err);
		return false;
	}
	if (pmu < 0) {
		counter_fail(ENODATA, err,
			"uprobe: %s is missing: the kernel needs CONFIG_UPROBE_EVENTS and a "
			"mounted /sys",
			PMU_TYPE);
		return false;
	}
	/* The kernel checks the privilege first and then refuses this probe, which has no path. */
	attr.type = (uint32_t)pmu;
	fd = counter_sys_perf_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 || errno == EINVAL)
		return true;
	counter_perf_open_error(errno, "uprobe", err);
	return false;
}

enum { HITS, HITS_AT_LOOK }; /* indexes of a thread's last[] */

/* The opening of a probe, for which the kernel reads the file. */
struct opening {
	struct perf_event_attr attr;
	char path[PATH_MAX];
	pid_t tid;
	int fd, error;
	struct errmsg why; /* where the file was not even pinned */
};

static void run_opening(void *arg)
{
	struct opening *o = arg;
	char pinned[64];
	int pin = symbol_pin(o->path, &o->why);

	o->error = errno;
	if (pin < 0)
		return;
	o->why.text[0] = '\0';
	snprintf(pinned, sizeof(pinned), "/proc/self/fd/%d", pin);
	o->attr.uprobe_path = (uintptr_t)pinned;
	o->fd = counter_sys_perf_open(&o->attr, o->tid, -1, -1, 0);
	o->error = errno;
	close(pin);
}

static void drop_opening(void *arg)
{
	struct opening *o = arg;

	if (o->fd >= 0)
		close(o->fd);
	free(o);
}

static int open_thread(void *arg, struct counter_thread *t, bool inherit, struct errmsg *err)
{
	struct uprobe *u = arg;
	struct opening *o = calloc(1, sizeof(*o));
	struct errmsg why;
	int code;

	(void)inherit;
	if (!o)
		return counter_fail(ENOMEM, err, "out of memory");
	o->attr = (struct perf_event_attr){
		.size = sizeof(o->attr), .type = u->pmu, .probe_offset = u->offset};
	memcpy(o->path, u->path, sizeof(o->path));
	o->tid = t->tid;
	o->fd = -1;
	if (timed_call(timed_call_owner(t->tid), run_opening, drop_opening, o))
		return counter_fail(errno, err,
			"%s: the kernel could not read the program in time: its file system may be "
			"dead",
			u->name);
	t->handle[0] = o->fd;
	code = o->error;
	why = o->why;
	free(o);
	if (t->handle[0] >= 0)
		return 0;
	return *why.text ? counter_fail(code, err, "%s: %s", u->name, why.text)
			 : counter_perf_open_error(code, u->name, err);
}

static int read_thread(void *arg, struct counter_thread *t, struct counter_sample *sum)
{
	uint64_t hits;

	(void)arg;
	if (counter_sys_read(t->handle[0], &hits, sizeof(hits)) != sizeof(hits))
		return -1;
	sum->progress += hits - t->last[HITS];
	t->last[HITS] = hits;
	return 0;
}

static void close_thread(void *arg, struct counter_thread *t)
{
	(void)arg;
	background_close(t->handle[0]);
}

static const struct counter_thread_ops thread_ops = {
	.open = open_thread, .read = read_thread, .close = close_thread, .slow = true,
	/* No can_inherit: the kernel would look for our path in the memory of the task when it
	 * makes a thread, and the task could make none. */
};

/* What is known of a configured probe and has been logged, while this process lives. */
struct verdict {
	char name[512]; /* the probe as the configuration writes it */
	bool dear;
};

/* Whose programs call a configured function too often for a probe: of those users alone, as anybody
 * may have a program of that name. */
struct too_often {
	char name[512];
	uid_t owner;
};

#define TOO_OFTEN 256 /* so many are remembered, and more than one user can fill */

_Static_assert(TOO_OFTEN >= 2 * NODECONF_MAX_UPROBES, "a user could push out all others");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct verdict verdicts[NODECONF_MAX_UPROBES];
static struct too_often too_often[TOO_OFTEN];
static size_t next_too_often; /* the oldest, which the next one replaces */

/* Under lock. NULL where there is no room: poppa.conf has named too many different probes. */
static struct verdict *verdict_of(const char *name)
{
	for (size_t i = 0; i < NODECONF_MAX_UPROBES; i++) {
		if (!*verdicts[i].name)
			snprintf(verdicts[i].name, sizeof(verdicts[i].name), "%s", name);
		if (!strcmp(verdicts[i].name, name))
			return &verdicts[i];
	}
	return NULL;
}

/* A function with a dear first instruction (DEAR_NS) is refused unless the configuration accepts
 * the cost. Either is logged once. */
static int accept_cost(const struct symbol_place *place, const char *name, struct errmsg *err)
{
	bool refused = name[strlen(name) - 1] != DESPITE_COST;
	struct errmsg why = {""};
	struct verdict *known;

	if (!place->dear)
		return 0;
	if (refused)
		counter_fail(ENODATA, &why,
			"Uprobe=%s: the kernel would have to single-step this function's "
			"first instruction, some 10 us a call where a push or nop costs below 1 "
			"us; choose another function, or write %s%c if it is called a few times a "
			"second only",
			name, name, DESPITE_COST);
	pthread_mutex_lock(&lock);
	known = verdict_of(name);
	if (known && !known->dear) {
		known->dear = true;
		if (refused)
			plog_warn("counter uprobe: %s", why.text);
		else
			plog_warn("Uprobe=%s: the kernel single-steps this function's first "
				  "instruction: each call takes some 10 us longer",
				name);
	}
	pthread_mutex_unlock(&lock);
	return refused ? counter_fail(ENODATA, err, "%s", why.text) : 0;
}

/* Under lock. */
static bool is_too_often(const char *name, uid_t owner)
{
	for (size_t i = 0; i < TOO_OFTEN; i++)
		if (too_often[i].owner == owner && !strcmp(too_often[i].name, name))
			return true;
	return false;
}

/* Whether this user's programs have turned out to call the function too often to be probed. */
static int accept_rate(const char *name, uid_t owner, struct errmsg *err)
{
	bool refused;

	pthread_mutex_lock(&lock);
	refused = is_too_often(name, owner);
	pthread_mutex_unlock(&lock);
	return refused ? counter_fail(ENODATA, err,
				 "Uprobe=%s: a program of uid %u called it so often that the probe "
				 "slowed it by more than %.0f %%; choose another function and "
				 "restart poppad",
				 name, (unsigned)owner, 100 * MAX_SHARE)
		       : 0;
}

/* Gives up a probe that costs a thread too much. 0, or -1 with ENODATA. */
static int watch_rate(struct uprobe *u)
{
	int64_t now = clock_now(), elapsed = now - u->looked_ns;
	struct counter_sample ignored;
	double rate = 0, share;

	if (elapsed < LOOK_EVERY || counter_threads_read(&u->threads, &ignored))
		return 0;
	for (size_t i = 0; i < u->threads.count; i++) {
		uint64_t *last = u->threads.thread[i].last;
		double r = (double)(last[HITS] - last[HITS_AT_LOOK]) * NS_PER_S / (double)elapsed;

		last[HITS_AT_LOOK] = last[HITS];
		rate = r > rate ? r : rate;
	}
	u->looked_ns = now;
	share = rate * u->call_ns / NS_PER_S;
	if (share <= MAX_SHARE)
		return 0;
	pthread_mutex_lock(&lock);
	if (!is_too_often(u->name, u->owner)) {
		struct too_often *known = &too_often[next_too_often++ % TOO_OFTEN];

		strcpy(known->name, u->name);
		known->owner = u->owner;
		plog_warn("Uprobe=%s: called %.0f times a second by a thread of task %d of uid %u, "
			  "which the probe slows by some %.0f %%: given up for this user until "
			  "poppad restarts; choose another function",
			u->name, rate, (int)u->threads.pid, (unsigned)u->owner, 100 * share);
	}
	pthread_mutex_unlock(&lock);
	errno = ENODATA;
	return -1;
}

/* Finds the first configured function that pid has mapped and that may be probed. */
static int find_probe(const struct nodeconf *conf, pid_t pid, struct uprobe *u,
	struct symbol_place *place, struct errmsg *err)
{
	struct errmsg why = {""};
	int code = ENODATA;

	if (!conf || !conf->uprobe_count)
		return no_function(err);
	for (int i = 0; i < conf->uprobe_count; i++) {
		const char *colon = strrchr(conf->uprobe[i], ':');
		char file[512], symbol[512];

		snprintf(file, sizeof(file), "%.*s", (int)(colon - conf->uprobe[i]),
			conf->uprobe[i]);
		snprintf(symbol, sizeof(symbol), "%s", colon + 1);
		if (symbol[strlen(symbol) - 1] == DESPITE_COST)
			symbol[strlen(symbol) - 1] = '\0';
		if (!accept_rate(conf->uprobe[i], u->owner, &why) &&
			!symbol_find(pid, file, symbol, place, &why) &&
			!accept_cost(place, conf->uprobe[i], &why)) {
			snprintf(u->name, sizeof(u->name), "%s", conf->uprobe[i]);
			return 0;
		}
		code = errno;
		if (code == ESRCH || code == EREMOTE || code == ETIMEDOUT || code == EBUSY)
			break;
	}
	if (conf->uprobe_count > 1 && code == ENODATA)
		return counter_fail(code, err,
			"uprobe: none of the %d configured functions can be probed in task %d",
			conf->uprobe_count, (int)pid);
	return counter_fail(code, err, "uprobe: %s", why.text);
}

static int uprobe_open(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err)
{
	struct uprobe *u = calloc(1, sizeof(*u));
	struct symbol_place place;
	int pmu, code;

	if (!u)
		return counter_fail(ENOMEM, err, "out of memory");
	u->owner = timed_call_owner(pid);
	if (find_probe(conf, pid, u, &place, err))
		goto broken;
	pmu = counter_number_in(PMU_TYPE, -1);
	if (pmu < 0) {
		uprobe_available(conf, err);
		errno = ENODATA;
		goto broken;
	}
	u->pmu = (uint32_t)pmu;
	u->offset = place.offset;
	strcpy(u->path, place.path);
	u->call_ns = place.dear ? DEAR_NS : CHEAP_NS;
	u->looked_ns = clock_now();
	if (counter_threads_open(&u->threads, &thread_ops, u, pid, err))
		goto broken;
	*state = u;
	return 0;
broken:
	code = errno;
	free(u);
	errno = code;
	return -1;
}

static int uprobe_read(void *state, struct counter_sample *out)
{
	return counter_threads_read(&((struct uprobe *)state)->threads, out);
}

static void uprobe_prepare(void *state)
{
	counter_threads_prepare(&((struct uprobe *)state)->threads);
}

static int uprobe_refresh(void *state)
{
	struct uprobe *u = state;

	return watch_rate(u) ? -1 : counter_threads_refresh(&u->threads);
}

static void uprobe_close(void *state)
{
	struct uprobe *u = state;

	counter_threads_close(&u->threads);
	free(u);
}

const struct counter_ops counter_uprobe_ops = {
	.kind = COUNTER_UPROBE,
	.interrupts = true,
	.available = uprobe_available,
	.open = uprobe_open,
	.read = uprobe_read,
	.prepare = uprobe_prepare,
	.refresh = uprobe_refresh,
	.close = uprobe_close,
};
