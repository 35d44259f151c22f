/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the backend that has a signal for a task, and notices when the task has ended. */
#include "poppa_config.h"

#include "poppa/counter/counter.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"
#include "poppa/counter/counter_backend.h"
#include "poppa/hold/proc.h"

struct counter {
	const struct counter_ops *ops;
	void *state;
	int pidfd, stat_fd;
	struct counter_sample last;
	int64_t looked_ns; /* when the last look was whether a task without progress has ended */
};

/* The shortest time between two such looks: several readings of one block need only one. */
#define LOOK_EVERY (4 * NS_PER_MS)

/* The code of each backend of the table in common/counter_backends.h. ops is NULL where this build
 * lacks the library that `without` names. */
struct backend {
	const struct counter_ops *ops;
	const char *without;
};

static const struct backend backends[COUNTER_NAMES] = {
#ifdef HAVE_PFM
	[COUNTER_PERF] = {&counter_perf_ops, NULL},
#else
	[COUNTER_PERF] = {NULL, "libpfm4 (Debian: libpfm4-dev; RHEL/Rocky: libpfm-devel)"},
#endif
#ifdef HAVE_PAPI
	[COUNTER_PAPI] = {&counter_papi_ops, NULL},
#else
	[COUNTER_PAPI] = {NULL, "PAPI (Debian: libpapi-dev; RHEL/Rocky: papi-devel)"},
#endif
	[COUNTER_HEARTBEAT] = {&counter_heartbeat_ops, NULL},
	[COUNTER_UPROBE] = {&counter_uprobe_ops, NULL},
	[COUNTER_REPLAY] = {&counter_replay_ops, NULL},
};

static const struct counter_ops *find_backend(enum counter_backend kind, struct errmsg *err)
{
	const struct backend *b = &backends[kind];

	if (!b->ops && b->without)
		counter_fail(ENODATA, err, "%s: left out of this build, which had no %s",
			counter_backend_name(kind), b->without);
	else if (!b->ops)
		counter_fail(ENODATA, err, "%s: no counter backend", counter_backend_name(kind));
	return b->ops;
}

/* Logs why a backend cannot be used, once for each reason while this process lives: a fault of the
 * machine or of the configuration is the same for every task. A single task without a signal is no
 * fault and is not logged; of a file that does not answer, the caller names the job. */
static void report(enum counter_backend kind, const struct errmsg *why, bool asked_for)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool reported[COUNTER_NAMES][256];
	int code = errno;
	bool first;

	if (code == ESRCH || code == EREMOTE || code == ETIMEDOUT || code <= 0 || code > 255 ||
		(code == ENODATA && (kind == COUNTER_HEARTBEAT || kind == COUNTER_UPROBE)))
		return;
	pthread_mutex_lock(&lock);
	first = !reported[kind][code];
	reported[kind][code] = true;
	pthread_mutex_unlock(&lock);
	if (first)
		plog(asked_for || code != ENODATA ? PLOG_WARN : PLOG_INFO, "counter %s", why->text);
	errno = code;
}

/* Opens the first backend with a signal; err gets all their reasons if there is none, or that of a
 * file that could not be looked at. */
static int open_auto(struct counter *c, const struct nodeconf *conf, pid_t pid, struct errmsg *err)
{
	struct errmsg why, all = {""}, unread = {""};
	enum counter_backend kind;
	size_t used = 0;
	int code = ENODATA;

	for (int order = 1; (kind = counter_backend_ordered(order)) != COUNTER_NONE; order++) {
		const struct counter_ops *ops = backends[kind].ops;
		const char *sep = used ? "; " : "";

		if (!ops || !counter_backend_automatic(kind))
			continue;
		if (!ops->open(conf, pid, &c->state, &why)) {
			c->ops = ops;
			return 0;
		}
		if (errno == ESRCH)
			return counter_fail(ESRCH, err, "%s", why.text);
		if (errno == EREMOTE || errno == ETIMEDOUT) {
			code = errno;
			unread = why;
		}
		report(kind, &why, false);
		used += snprintf(all.text + used, sizeof(all.text) - used, "%s%s", sep, why.text);
		if (used >= sizeof(all.text))
			used = sizeof(all.text) - 1;
	}
	return counter_fail(code, err, "%s", code == ENODATA ? all.text : unread.text);
}

static int open_backend(struct counter *c, enum counter_backend backend,
	const struct nodeconf *conf, pid_t pid, struct errmsg *err)
{
	struct errmsg why = {""}, none = {""};
	int code;

	if (backend == COUNTER_AUTO)
		return open_auto(c, conf, pid, err);
	c->ops = find_backend(backend, &why);
	if (c->ops && !c->ops->open(conf, pid, &c->state, &why))
		return 0;
	code = errno;
	/* Where no task can use the backend, the log says that and not that this task cannot. */
	if (c->ops && code == ENODATA && !c->ops->available(conf, &none)) {
		why = none;
		errno = ENOTSUP;
	} else {
		errno = code;
	}
	report(backend, &why, true);
	return counter_fail(code, err, "%s", why.text);
}

static bool task_ended(const struct counter *c)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static bool look_again(struct counter *c)
{
	int64_t now = clock_now();

	if (c->looked_ns && now - c->looked_ns < LOOK_EVERY)
		return false;
	c->looked_ns = now;
	return true;
}

int counter_open(enum counter_backend backend, const struct nodeconf *conf, pid_t pid,
	struct counter **out, struct errmsg *err)
{
	struct counter *c = calloc(1, sizeof(*c));
	int code;

	if (!c)
		return counter_fail(ENOMEM, err, "out of memory");
	c->stat_fd = -1;
	c->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (c->pidfd >= 0)
		c->stat_fd = proc_stat_open(pid);
	if (c->stat_fd < 0) {
		code = errno;
		counter_fail(code, err, "task %d: %s", (int)pid,
			code == ESRCH ? "it is gone"
			: code == EMFILE || code == ENFILE
				? "out of file descriptors: raise LimitNOFILE (ulimit -n)"
				: strerror(code));
		report(backend, err, true);
		goto broken;
	}
	if (open_backend(c, backend, conf, pid, err))
		goto broken;
	/* All files above were opened by the task's number, which is still its own if it lives. */
	if (task_ended(c)) {
		counter_fail(ESRCH, err, "task %d: it is gone", (int)pid);
		goto broken;
	}
	*out = c;
	return 0;
broken:
	code = errno;
	counter_close(c);
	errno = code;
	return -1;
}

int counter_read(struct counter *c, struct counter_sample *out)
{
	out->misses = 0;
	out->missing = false;
	if (c->ops->read(c->state, out))
		return -1;
	/* The counter of a task that has ended can still be read: it just does not grow. */
	if (out->progress == c->last.progress && out->cycles == c->last.cycles && look_again(c) &&
		task_ended(c)) {
		errno = ESRCH;
		return -1;
	}
	c->last = *out;
	return 0;
}

void counter_prepare(struct counter *c)
{
	if (c->ops->prepare && !task_ended(c))
		c->ops->prepare(c->state);
}

int counter_refresh(struct counter *c)
{
	if (task_ended(c)) {
		errno = ESRCH;
		return -1;
	}
	return c->ops->refresh(c->state);
}

void counter_close(struct counter *c)
{
	if (!c)
		return;
	if (c->state)
		c->ops->close(c->state);
	if (c->stat_fd >= 0)
		close(c->stat_fd);
	if (c->pidfd >= 0)
		close(c->pidfd);
	free(c);
}

enum counter_backend counter_kind(const struct counter *c)
{
	return c->ops->kind;
}

bool counter_has_cycles(const struct counter *c)
{
	return c->ops->has_cycles;
}

bool counter_has_misses(const struct counter *c)
{
	return c->ops->has_misses && c->ops->has_misses(c->state);
}

bool counter_interrupts(const struct counter *c)
{
	return c->ops->interrupts;
}

void counter_region(struct counter *c, int region)
{
	if (c->ops->region)
		c->ops->region(c->state, region);
}

char counter_task_state(const struct counter *c)
{
	return proc_state(c->stat_fd);
}

bool counter_available(
	enum counter_backend backend, const struct nodeconf *conf, struct errmsg *err)
{
	const struct counter_ops *ops;

	if (backend == COUNTER_AUTO)
		return true;
	ops = find_backend(backend, err);
	return ops && ops->available(conf, err);
}
