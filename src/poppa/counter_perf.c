/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts instructions and cycles of a task's threads with the processor's PMU. */
/*
 * Each thread has one group of two events, read together by one call. User mode only: the kernel's
 * work for a task is no progress. Event names are libpfm4's.
 */
#include "poppa/counter_backend.h"

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "poppa/counter_perf.h"

#define PROGRESS_EVENT "perf::INSTRUCTIONS"
#define CYCLES_EVENT "perf::CYCLES"

enum { LAST_PROGRESS, LAST_CYCLES, LAST_ENABLED, LAST_RUNNING };

struct perf {
	struct counter_threads threads;
	struct perf_event_attr progress, cycles;
};

/* How the kernel answers a read of the group. */
struct group_read {
	uint64_t nr;
	uint64_t enabled, running; /* ns */
	uint64_t value[2];
};

static int pfm_ready(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool done;
	int rc = PFM_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!done) {
		rc = pfm_initialize();
		done = rc == PFM_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int counter_perf_encode(const char *event, struct perf_event_attr *attr, struct errmsg *err)
{
	pfm_perf_encode_arg_t arg = {.attr = attr, .size = sizeof(arg)};
	int rc = pfm_ready();

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	if (rc == PFM_SUCCESS)
		rc = pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (rc != PFM_SUCCESS)
		return counter_fail(rc == PFM_ERR_NOMEM ? ENOMEM : ENODATA, err,
			"perf: libpfm4 does not know the event %s here: %s", event,
			pfm_strerror(rc));
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	return 0;
}

void counter_perf_scale(const uint64_t now[4], uint64_t last[4], struct counter_sample *sum)
{
	uint64_t enabled = now[LAST_ENABLED] - last[LAST_ENABLED];
	uint64_t running = now[LAST_RUNNING] - last[LAST_RUNNING];
	uint64_t progress = now[LAST_PROGRESS] - last[LAST_PROGRESS];
	uint64_t cycles = now[LAST_CYCLES] - last[LAST_CYCLES];

	/* Multiplexed away for the whole interval: the next one speaks for this one too. */
	if (enabled && !running)
		return;
	if (enabled > running) {
		double factor = (double)enabled / (double)running;

		progress = (uint64_t)((double)progress * factor + 0.5);
		cycles = (uint64_t)((double)cycles * factor + 0.5);
	}
	sum->progress += progress;
	sum->cycles += cycles;
	memcpy(last, now, 4 * sizeof(*last));
}

static int open_thread(void *arg, struct counter_thread *t, struct errmsg *err)
{
	struct perf *p = arg;

	t->handle[0] = counter_sys_perf_open(&p->progress, t->tid, -1);
	if (t->handle[0] < 0)
		return counter_perf_open_error(errno, "perf: " PROGRESS_EVENT, err);
	t->handle[1] = counter_sys_perf_open(&p->cycles, t->tid, t->handle[0]);
	if (t->handle[1] < 0) {
		int code = errno;

		close(t->handle[0]);
		return counter_perf_open_error(code, "perf: " CYCLES_EVENT, err);
	}
	return 0;
}

static int read_thread(void *arg, struct counter_thread *t, struct counter_sample *sum)
{
	struct group_read r;
	ssize_t n = counter_sys_read(t->handle[0], &r, sizeof(r));

	(void)arg;
	if (n != sizeof(r)) {
		if (n >= 0)
			errno = EIO;
		return -1;
	}
	counter_perf_scale(
		(const uint64_t[]){r.value[0], r.value[1], r.enabled, r.running}, t->last, sum);
	return 0;
}

static void close_thread(void *arg, struct counter_thread *t)
{
	(void)arg;
	close(t->handle[1]);
	close(t->handle[0]);
}

static const struct counter_thread_ops thread_ops = {
	.open = open_thread,
	.read = read_thread,
	.close = close_thread,
};

static int encode(struct perf *p, struct errmsg *err)
{
	if (counter_perf_encode(PROGRESS_EVENT, &p->progress, err) ||
		counter_perf_encode(CYCLES_EVENT, &p->cycles, err))
		return -1;
	p->progress.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	p->cycles.read_format = p->progress.read_format;
	return 0;
}

static int perf_open(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err)
{
	struct perf *p = calloc(1, sizeof(*p));
	int code;

	(void)conf;
	if (!p)
		return counter_fail(ENOMEM, err, "out of memory");
	if (encode(p, err) || counter_threads_open(&p->threads, &thread_ops, p, pid, err)) {
		code = errno;
		free(p);
		errno = code;
		return -1;
	}
	*state = p;
	return 0;
}

static int perf_read(void *state, struct counter_sample *out)
{
	return counter_threads_read(&((struct perf *)state)->threads, out);
}

static int perf_refresh(void *state)
{
	return counter_threads_refresh(&((struct perf *)state)->threads);
}

static void perf_close(void *state)
{
	struct perf *p = state;

	counter_threads_close(&p->threads);
	free(p);
}

/* Counts this thread for a moment. */
static bool perf_available(struct errmsg *err)
{
	struct counter_thread self = {.tid = 0};
	struct perf p = {0};

	if (encode(&p, err) || open_thread(&p, &self, err))
		return false;
	close_thread(&p, &self);
	return true;
}

const struct counter_ops counter_perf_ops = {
	.kind = COUNTER_PERF,
	.has_cycles = true,
	.available = perf_available,
	.open = perf_open,
	.read = perf_read,
	.refresh = perf_refresh,
	.close = perf_close,
};
