/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts instructions and cycles of a task's threads through PAPI. */
/* Each thread has an event set attached to it. The events have their kernel names, as not every
 * processor has PAPI's own presets. PAPI keeps state for the whole process, so every call is made
 * under one lock, but for PAPI_read(), which touches only its event set. */
#include "poppa/counter/counter_backend.h"

#include <errno.h>
#include <papi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_EVENT "perf::INSTRUCTIONS"
#define CYCLES_EVENT "perf::CYCLES"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct papi {
	char event[NODECONF_EVENT_SIZE];
	struct counter_threads threads;
};

static int papi_errno(int rc)
{
	switch (rc) {
	case PAPI_ENOMEM:
		return ENOMEM;
	case PAPI_EPERM:
		return EPERM;
	case PAPI_EINVAL: /* what perf_event_open() refuses, such as a thread that has ended */
		return EINVAL;
	case PAPI_ENOSUPP:
	case PAPI_ENOEVNT:
	case PAPI_ECNFLCT:
	case PAPI_ECMP:
	case PAPI_ENOCMP:
	case PAPI_ECMP_DISABLED:
		return ENODATA;
	default:
		return EIO;
	}
}

static const char *advice(int rc)
{
	switch (rc) {
	case PAPI_EPERM:
		return "run as root or give CAP_PERFMON";
	case PAPI_ENOEVNT:
		return "a virtual machine needs its PMU passed through; PerfEvent in poppa.conf "
		       "takes what papi_native_avail lists here";
	case PAPI_ECNFLCT:
		return "the PMU cannot count it together with " CYCLES_EVENT ": choose another "
		       "PerfEvent";
	case PAPI_ECMP_DISABLED:
		return "papi_component_avail tells why";
	default:
		return "papi_component_avail tells what PAPI finds here";
	}
}

static int fail(int rc, const char *what, struct errmsg *err)
{
	return counter_fail(papi_errno(rc), err, "papi: %s: %s (%d); %s", what, PAPI_strerror(rc),
		rc, advice(rc));
}

/* Under lock. */
static int papi_ready(struct errmsg *err)
{
	const PAPI_component_info_t *cpu;
	int rc;

	if (PAPI_is_initialized() == PAPI_NOT_INITED) {
		rc = PAPI_library_init(PAPI_VER_CURRENT);
		if (rc != PAPI_VER_CURRENT)
			return counter_fail(ENODATA, err, "papi: the library does not start: %s",
				rc > 0 ? "it is another release than this build's"
				       : PAPI_strerror(rc));
	}
	if (PAPI_num_cmp_hwctrs(0) > 0)
		return 0;
	cpu = PAPI_get_component_info(0);
	/* PAPI checks perf_event_paranoid even as root. */
	if (cpu && cpu->disabled && strstr(cpu->disabled_reason, "paranoid"))
		return counter_fail(ENODATA, err,
			"papi: %s; set it to 2 with sysctl kernel.perf_event_paranoid=2, or use "
			"perf, which as root counts at any level",
			cpu->disabled_reason);
	if (cpu && cpu->disabled && *cpu->disabled_reason)
		return counter_fail(ENODATA, err,
			"papi: %s; use perf, or heartbeat or uprobe where there is no PMU",
			cpu->disabled_reason);
	return counter_fail(ENODATA, err,
		"papi: this machine has no hardware counters (papi_component_avail tells why); a "
		"virtual machine needs its PMU passed through (QEMU/KVM: -cpu host,pmu=on), else "
		"use heartbeat or uprobe");
}

static void destroy(int set)
{
	PAPI_cleanup_eventset(set);
	PAPI_destroy_eventset(&set);
}

static int open_thread(void *arg, struct counter_thread *t, bool inherit, struct errmsg *err)
{
	struct papi *p = arg;
	int set = PAPI_NULL, rc;
	char what[NODECONF_EVENT_SIZE + 64];

	(void)inherit;
	rc = PAPI_create_eventset(&set);
	if (rc != PAPI_OK)
		return fail(rc, "no event set", err);
	/* A set can be attached only when it has a component. */
	if ((rc = PAPI_assign_eventset_component(set, 0)) != PAPI_OK ||
		(rc = PAPI_attach(set, (unsigned long)t->tid)) != PAPI_OK ||
		(rc = PAPI_add_named_event(set, p->event)) != PAPI_OK ||
		(rc = PAPI_add_named_event(set, CYCLES_EVENT)) != PAPI_OK ||
		(rc = PAPI_start(set)) != PAPI_OK) {
		destroy(set);
		/* PAPI gives one error for an ended thread and for what cannot be counted. */
		if (kill(t->tid, 0) && errno == ESRCH)
			return counter_fail(ESRCH, err, "papi: thread %d is gone", (int)t->tid);
		snprintf(what, sizeof(what), "%s cannot be counted", p->event);
		return fail(rc, what, err);
	}
	t->handle[0] = set;
	return 0;
}

static int read_thread(void *arg, struct counter_thread *t, struct counter_sample *sum)
{
	long long value[2];

	(void)arg;
	if (PAPI_read(t->handle[0], value) != PAPI_OK) {
		errno = EIO;
		return -1;
	}
	sum->progress += (uint64_t)value[0] - t->last[0];
	sum->cycles += (uint64_t)value[1] - t->last[1];
	t->last[0] = (uint64_t)value[0];
	t->last[1] = (uint64_t)value[1];
	return 0;
}

static void close_thread(void *arg, struct counter_thread *t)
{
	long long value[2];

	(void)arg;
	PAPI_stop(t->handle[0], value);
	destroy(t->handle[0]);
}

static const struct counter_thread_ops thread_ops = {
	.open = open_thread,
	.read = read_thread,
	.close = close_thread,
};

static void choose_event(struct papi *p, const struct nodeconf *conf)
{
	snprintf(p->event, sizeof(p->event), "%s",
		conf && *conf->perf_event ? conf->perf_event : PROGRESS_EVENT);
}

static int papi_open(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err)
{
	struct papi *p = calloc(1, sizeof(*p));
	int rc, code;

	if (!p)
		return counter_fail(ENOMEM, err, "out of memory");
	choose_event(p, conf);
	pthread_mutex_lock(&lock);
	rc = papi_ready(err);
	if (!rc)
		rc = counter_threads_open(&p->threads, &thread_ops, p, pid, err);
	code = errno;
	pthread_mutex_unlock(&lock);
	if (rc) {
		free(p);
		errno = code;
		return -1;
	}
	*state = p;
	return 0;
}

static int papi_read(void *state, struct counter_sample *out)
{
	return counter_threads_read(&((struct papi *)state)->threads, out);
}

static int papi_refresh(void *state)
{
	int rc, code;

	pthread_mutex_lock(&lock);
	rc = counter_threads_refresh(&((struct papi *)state)->threads);
	code = errno;
	pthread_mutex_unlock(&lock);
	errno = code;
	return rc;
}

static void papi_close(void *state)
{
	struct papi *p = state;

	pthread_mutex_lock(&lock);
	counter_threads_close(&p->threads);
	pthread_mutex_unlock(&lock);
	free(p);
}

/* Tries it on the calling thread: PAPI also lists counters that a virtual machine lacks. */
static bool papi_available(const struct nodeconf *conf, struct errmsg *err)
{
	struct counter_thread self = {.tid = gettid()};
	struct papi p;
	int rc;

	choose_event(&p, conf);
	pthread_mutex_lock(&lock);
	rc = papi_ready(err);
	if (!rc)
		rc = open_thread(&p, &self, false, err);
	if (!rc)
		close_thread(&p, &self);
	pthread_mutex_unlock(&lock);
	return rc == 0;
}

const struct counter_ops counter_papi_ops = {
	.kind = COUNTER_PAPI,
	.has_cycles = true,
	.interrupts = true,
	.available = papi_available,
	.open = papi_open,
	.read = papi_read,
	.refresh = papi_refresh,
	.close = papi_close,
};
