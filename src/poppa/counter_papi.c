/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts instructions and cycles of a task's threads through PAPI. */
/*
 * One event set a thread, attached to it. PAPI keeps state for the whole process, so every call but
 * PAPI_read(), which touches only its event set, is made under one lock.
 */
#include "poppa/counter_backend.h"

#include <errno.h>
#include <papi.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int papi_errno(int rc)
{
	switch (rc) {
	case PAPI_ENOMEM:
		return ENOMEM;
	case PAPI_EPERM:
		return EPERM;
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

static int fail(int rc, const char *what, struct errmsg *err)
{
	return counter_fail(papi_errno(rc), err, "papi: %s: %s", what, PAPI_strerror(rc));
}

/* Under lock. */
static int papi_ready(struct errmsg *err)
{
	int rc;

	if (PAPI_is_initialized() == PAPI_NOT_INITED) {
		rc = PAPI_library_init(PAPI_VER_CURRENT);
		if (rc != PAPI_VER_CURRENT)
			return counter_fail(ENODATA, err, "papi: the library does not start: %s",
				rc > 0 ? "it is another release than this build's"
				       : PAPI_strerror(rc));
	}
	if (PAPI_num_cmp_hwctrs(0) <= 0)
		return counter_fail(ENODATA, err,
			"papi: this machine has no hardware counters (papi_component_avail tells "
			"why); a virtual machine needs its PMU passed through, else use heartbeat "
			"or uprobe");
	return 0;
}

static void destroy(int set)
{
	PAPI_cleanup_eventset(set);
	PAPI_destroy_eventset(&set);
}

static int open_thread(void *arg, struct counter_thread *t, struct errmsg *err)
{
	int set = PAPI_NULL, rc;

	(void)arg;
	rc = PAPI_create_eventset(&set);
	if (rc != PAPI_OK)
		return fail(rc, "no event set", err);
	/* A set can be attached once it has a component, and counts from its start. */
	if ((rc = PAPI_assign_eventset_component(set, 0)) != PAPI_OK ||
		(rc = PAPI_attach(set, (unsigned long)t->tid)) != PAPI_OK ||
		(rc = PAPI_add_event(set, PAPI_TOT_INS)) != PAPI_OK ||
		(rc = PAPI_add_event(set, PAPI_TOT_CYC)) != PAPI_OK ||
		(rc = PAPI_start(set)) != PAPI_OK) {
		destroy(set);
		return fail(rc, "instructions and cycles cannot be counted", err);
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

static int papi_open(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err)
{
	struct counter_threads *threads = calloc(1, sizeof(*threads));
	int rc, code;

	(void)conf;
	if (!threads)
		return counter_fail(ENOMEM, err, "out of memory");
	pthread_mutex_lock(&lock);
	rc = papi_ready(err);
	if (!rc)
		rc = counter_threads_open(threads, &thread_ops, NULL, pid, err);
	code = errno;
	pthread_mutex_unlock(&lock);
	if (rc) {
		free(threads);
		errno = code;
		return -1;
	}
	*state = threads;
	return 0;
}

static int papi_read(void *state, struct counter_sample *out)
{
	return counter_threads_read(state, out);
}

static int papi_refresh(void *state)
{
	int rc, code;

	pthread_mutex_lock(&lock);
	rc = counter_threads_refresh(state);
	code = errno;
	pthread_mutex_unlock(&lock);
	errno = code;
	return rc;
}

static void papi_close(void *state)
{
	pthread_mutex_lock(&lock);
	counter_threads_close(state);
	pthread_mutex_unlock(&lock);
	free(state);
}

static bool papi_available(struct errmsg *err)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = papi_ready(err);
	pthread_mutex_unlock(&lock);
	return rc == 0;
}

const struct counter_ops counter_papi_ops = {
	.kind = COUNTER_PAPI,
	.has_cycles = true,
	.available = papi_available,
	.open = papi_open,
	.read = papi_read,
	.refresh = papi_refresh,
	.close = papi_close,
};
