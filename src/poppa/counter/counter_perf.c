/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts instructions and cycles of a task's threads with the processor's PMU. */
/*
 * One call reads a group of two events, or of three where poppa.conf names one that counts misses
 * of the last-level cache. There is a group for each thread that the task has when its counter is
 * opened (it also counts the threads that its thread makes later), or, where that is cheaper, a
 * group for each processor that the task's own cgroup may use. The latter counts nobody else: the
 * kernel switches such a group on only while a process of that cgroup runs. Only user mode is
 * counted, unless the configured event says otherwise: the kernel's work for a task is no progress.
 */
#include "poppa/counter/counter_backend.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "poppa/counter/counter_cgroup.h"
#include "poppa/counter/counter_perf.h"

#define PROGRESS_EVENT "perf::INSTRUCTIONS"
#define CYCLES_EVENT "perf::CYCLES"

enum { LAST_PROGRESS, LAST_CYCLES, LAST_ENABLED, LAST_RUNNING, LAST_MISSES, LASTS };
enum { PROGRESS, CYCLES, MISSES, EVENTS }; /* indexes of a group's events */

struct perf {
	pid_t pid;
	char name[NODECONF_EVENT_SIZE]; /* of the progress event */
	char miss_name[NODECONF_EVENT_SIZE];
	struct perf_event_attr progress, cycles, misses;
	/* Its groups have the third event. Where one of them cannot have it, a sum over the others
	 * would be no count, so the task has none. */
	bool has_misses;
	struct counter_sample earlier; /* counted by groups that have been replaced */

	/* Either by thread ... */
	struct counter_threads threads;
	size_t considered; /* number of threads when consider_cpus() last looked */

	/* ... or by processor, while cpus is not 0. */
	struct counter_cgroup cgroup;
	struct counter_thread *cpu;
	size_t cpus;
	struct counter_sample by_cpu;
};

/* How the kernel answers a read of the group. */
struct group_read {
	uint64_t nr;
	uint64_t enabled, running; /* ns */
	uint64_t value[EVENTS];
};

void counter_perf_scale(const uint64_t now[5], uint64_t last[5], struct counter_sample *sum)
{
	uint64_t enabled = now[LAST_ENABLED] - last[LAST_ENABLED];
	uint64_t running = now[LAST_RUNNING] - last[LAST_RUNNING];
	uint64_t progress = now[LAST_PROGRESS] - last[LAST_PROGRESS];
	uint64_t cycles = now[LAST_CYCLES] - last[LAST_CYCLES];
	uint64_t misses = now[LAST_MISSES] - last[LAST_MISSES];

	/* Others had the PMU all the time, or all but a moment in which the task ran none of its
	 * own instructions. So its progress is unknown, which does not mean zero. */
	if (enabled && (!running || (running < enabled && !progress && !cycles))) {
		sum->missing = true;
		memcpy(last, now, LASTS * sizeof(*last));
		return;
	}
	if (enabled > running) {
		double factor = (double)enabled / (double)running;

		progress = (uint64_t)((double)progress * factor + 0.5);
		cycles = (uint64_t)((double)cycles * factor + 0.5);
		misses = (uint64_t)((double)misses * factor + 0.5);
	}
	sum->progress += progress;
	sum->cycles += cycles;
	sum->misses += misses;
	memcpy(last, now, LASTS * sizeof(*last));
}

/* Logs why tasks have no misses, once for each reason while this process lives: an errno, or 0 for
 * one that is none. */
static void tell_no_misses(int reason, const char *why)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool told[256];
	bool first;

	pthread_mutex_lock(&lock);
	first = !told[(unsigned)reason % 256];
	told[(unsigned)reason % 256] = true;
	pthread_mutex_unlock(&lock);
	if (first)
		plog_warn("counter %s; cache misses are not counted, all else is", why);
}

static void close_group(void *arg, struct counter_thread *g)
{
	(void)arg;
	if (g->handle[MISSES] >= 0)
		close(g->handle[MISSES]);
	close(g->handle[CYCLES]);
	close(g->handle[PROGRESS]);
}

/* Adds the third event to a group. Fails only where the thread is gone: a group without misses
 * still counts the rest. */
static int open_misses(struct perf *p, pid_t pid, int cpu, unsigned long flags, bool inherit,
	struct counter_thread *g, struct errmsg *err)
{
	struct perf_event_attr misses = p->misses;
	char what[NODECONF_EVENT_SIZE + 24];
	struct errmsg why = {""};
	int code;

	/* The kernel that let the others be inherited lets this one. */
	if (inherit)
		counter_sys_inherit(&misses);
	g->handle[MISSES] = counter_sys_perf_open(&misses, pid, cpu, g->handle[PROGRESS], flags);
	if (g->handle[MISSES] >= 0)
		return 0;
	code = errno;
	snprintf(what, sizeof(what), "perf: MissEvent=%s", p->miss_name);
	if (code == ESRCH) {
		close_group(p, g);
		return counter_perf_open_error(code, what, err);
	}
	if (code == EINVAL)
		counter_fail(code, &why, "%s: it cannot be counted beside instructions and cycles",
			what);
	else
		counter_perf_open_error(code, what, &why);
	p->has_misses = false;
	tell_no_misses(code, why.text);
	return 0;
}

/* Opens one group for a thread (cpu is -1), or for a cgroup on one processor (pid is the cgroup's
 * descriptor, and flags say so). */
static int open_group(struct perf *p, pid_t pid, int cpu, unsigned long flags, bool inherit,
	struct counter_thread *g, struct errmsg *err)
{
	struct perf_event_attr progress = p->progress, cycles = p->cycles;
	char what[NODECONF_EVENT_SIZE + 8];
	int code;

	g->handle[MISSES] = -1;
	if (inherit && (counter_sys_inherit(&progress) || counter_sys_inherit(&cycles)))
		return counter_fail(errno, err, "perf: threads cannot be followed");
	snprintf(what, sizeof(what), "perf: %s", p->name);
	g->handle[PROGRESS] = counter_sys_perf_open(&progress, pid, cpu, -1, flags);
	if (g->handle[PROGRESS] < 0)
		return counter_perf_open_error(errno, what, err);
	g->handle[CYCLES] = counter_sys_perf_open(&cycles, pid, cpu, g->handle[PROGRESS], flags);
	if (g->handle[CYCLES] < 0) {
		code = errno;
		close(g->handle[PROGRESS]);
		return counter_perf_open_error(code, "perf: " CYCLES_EVENT, err);
	}
	return p->has_misses ? open_misses(p, pid, cpu, flags, inherit, g, err) : 0;
}

static int read_group(void *arg, struct counter_thread *g, struct counter_sample *sum)
{
	struct group_read r;
	size_t size = sizeof(r) - (g->handle[MISSES] < 0 ? sizeof(r.value[MISSES]) : 0);
	ssize_t n;

	(void)arg;
	r.value[MISSES] = 0;
	n = counter_sys_read(g->handle[PROGRESS], &r, size);
	if (n != (ssize_t)size) {
		if (n >= 0)
			errno = EIO;
		return -1;
	}
	counter_perf_scale((const uint64_t[]){r.value[PROGRESS], r.value[CYCLES], r.enabled,
				   r.running, r.value[MISSES]},
		g->last, sum);
	return 0;
}

/* --- by thread --- */

static int open_thread(void *arg, struct counter_thread *t, bool inherit, struct errmsg *err)
{
	return open_group(arg, t->tid, -1, 0, inherit, t, err);
}

static const struct counter_thread_ops thread_ops = {
	.open = open_thread,
	.read = read_group,
	.close = close_group,
	.can_inherit = true,
};

/* --- by processor --- */

static void close_cpus(struct perf *p)
{
	if (!p->cpu)
		return;
	for (size_t i = 0; i < p->cpus; i++)
		close_group(p, &p->cpu[i]);
	free(p->cpu);
	p->cpu = NULL;
	p->cpus = 0;
	close(p->cgroup.fd);
}

static int read_cpus(struct perf *p, struct counter_sample *out)
{
	p->by_cpu.missing = false;
	for (size_t i = 0; i < p->cpus; i++)
		if (read_group(p, &p->cpu[i], &p->by_cpu))
			return -1;
	*out = p->by_cpu;
	return 0;
}

/* What a reading costs, in tenths of a microsecond, as tests/unit/poppa/counter/test_counter_live.c
 * prints it: a system call for each group, and a little for each thread that inherits one. */
#define GROUP_COST 6
#define HEIR_COST 1

/* Opens a group for each processor. Fails where the task has no cgroup of its own, or where these
 * groups would not be cheaper than those of its threads. */
static int open_cpus(struct perf *p, size_t threads)
{
	size_t groups = p->threads.count, heirs = threads > groups ? threads - groups : 0;
	struct errmsg ignored;

	if (counter_cgroup_open(p->pid, &p->cgroup))
		return -1;
	if (GROUP_COST * (size_t)CPU_COUNT(&p->cgroup.cpus) <
		GROUP_COST * groups + HEIR_COST * heirs)
		p->cpu = calloc(CPU_COUNT(&p->cgroup.cpus), sizeof(*p->cpu));
	if (!p->cpu) {
		close(p->cgroup.fd);
		return -1;
	}
	p->by_cpu = (struct counter_sample){0};
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &p->cgroup.cpus))
			continue;
		if (open_group(p, p->cgroup.fd, cpu, PERF_FLAG_PID_CGROUP, false, &p->cpu[p->cpus],
			    &ignored)) {
			close_cpus(p);
			return -1;
		}
		p->cpus++;
	}
	return 0;
}

/* How many threads the task has; 0 when it is gone. */
static size_t count_threads(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return stat(path, &st) || st.st_nlink < 2 ? 0 : st.st_nlink - 2;
}

static void keep(struct perf *p, const struct counter_sample *counted)
{
	p->earlier.progress += counted->progress;
	p->earlier.cycles += counted->cycles;
	p->earlier.misses += counted->misses;
}

/* Changes to groups by processor where these have become cheaper. */
static void consider_cpus(struct perf *p)
{
	size_t threads = count_threads(p->pid);
	struct counter_sample last;

	if (threads == p->considered || threads < 2)
		return;
	p->considered = threads;
	if (open_cpus(p, threads))
		return;
	if (!counter_threads_read(&p->threads, &last))
		keep(p, &last);
	counter_threads_close(&p->threads);
}

/* Changes back where the task now shares its cgroup, or has only few threads left. */
static int consider_threads(struct perf *p)
{
	size_t threads = count_threads(p->pid);
	struct counter_sample last;

	if (threads && 2 * threads > p->cpus && counter_cgroup_holds(&p->cgroup, p->pid))
		return 0;
	if (counter_threads_open(&p->threads, &thread_ops, p, p->pid, &(struct errmsg){""}))
		return -1;
	if (!read_cpus(p, &last))
		keep(p, &last);
	close_cpus(p);
	p->considered = threads;
	return 0;
}

/* --- the backend --- */

static int encode(struct perf *p, const struct nodeconf *conf, struct errmsg *err)
{
	snprintf(p->name, sizeof(p->name), "%s",
		conf && *conf->perf_event ? conf->perf_event : PROGRESS_EVENT);
	if (counter_perf_encode(p->name, &p->progress, err) ||
		counter_perf_encode(CYCLES_EVENT, &p->cycles, err))
		return -1;
	/* A rate needs both events to count in the same modes. */
	p->cycles.exclude_user = p->progress.exclude_user;
	p->cycles.exclude_kernel = p->progress.exclude_kernel;
	p->progress.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	p->cycles.read_format = p->progress.read_format;
	return 0;
}

/* Whether the progress event counts instructions, by the kernel's own name of them. */
static bool counts_instructions(const struct perf *p)
{
	struct perf_event_attr instructions;

	return !counter_perf_encode(PROGRESS_EVENT, &instructions, NULL) &&
	       p->progress.type == instructions.type && p->progress.config == instructions.config;
}

/* Finds out what the third event is. Misses mean something only beside instructions and cycles of
 * the same modes. */
static bool encode_misses(struct perf *p, const struct nodeconf *conf)
{
	struct errmsg why = {""};

	if (!conf || !*conf->miss_event)
		return false;
	snprintf(p->miss_name, sizeof(p->miss_name), "%s", conf->miss_event);
	if (!counts_instructions(p)) {
		counter_fail(0, &why,
			"perf: MissEvent=%s needs instructions beside it, and PerfEvent=%s is "
			"something else than " PROGRESS_EVENT,
			p->miss_name, p->name);
		tell_no_misses(0, why.text);
		return false;
	}
	if (counter_perf_encode(p->miss_name, &p->misses, &why)) {
		tell_no_misses(errno, why.text);
		return false;
	}
	p->misses.exclude_user = p->progress.exclude_user;
	p->misses.exclude_kernel = p->progress.exclude_kernel;
	p->misses.read_format = p->progress.read_format;
	return true;
}

/* Opens the task's threads. The descriptor of each thread's misses must not be the one too many.
 */
static int open_threads(struct perf *p, struct errmsg *err)
{
	bool wanted = p->has_misses;

	if (!counter_threads_open(&p->threads, &thread_ops, p, p->pid, err))
		return 0;
	if (!wanted || (errno != EMFILE && errno != ENFILE))
		return -1;
	p->has_misses = false;
	tell_no_misses(errno, "perf: out of file descriptors: raise LimitNOFILE (ulimit -n)");
	return counter_threads_open(&p->threads, &thread_ops, p, p->pid, err);
}

static int perf_open(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err)
{
	struct perf *p = calloc(1, sizeof(*p));
	int code;

	if (!p)
		return counter_fail(ENOMEM, err, "out of memory");
	p->pid = pid;
	if (encode(p, conf, err))
		goto broken;
	p->has_misses = encode_misses(p, conf);
	if (open_threads(p, err))
		goto broken;
	consider_cpus(p);
	*state = p;
	return 0;
broken:
	code = errno;
	free(p);
	errno = code;
	return -1;
}

static bool perf_has_misses(const void *state)
{
	return ((const struct perf *)state)->has_misses;
}

static int perf_read(void *state, struct counter_sample *out)
{
	struct perf *p = state;

	if (p->cpus ? read_cpus(p, out) : counter_threads_read(&p->threads, out))
		return -1;
	out->progress += p->earlier.progress;
	out->cycles += p->earlier.cycles;
	out->misses += p->earlier.misses;
	return 0;
}

static int perf_refresh(void *state)
{
	struct perf *p = state;

	if (p->cpus)
		return consider_threads(p);
	if (counter_threads_refresh(&p->threads))
		return -1;
	consider_cpus(p);
	return 0;
}

static void perf_close(void *state)
{
	struct perf *p = state;

	counter_threads_close(&p->threads);
	close_cpus(p);
	free(p);
}

/* Tries it: counts the calling thread for a moment. */
static bool perf_available(const struct nodeconf *conf, struct errmsg *err)
{
	struct counter_thread self = {.tid = 0};
	struct perf p = {0};

	if (encode(&p, conf, err) || open_group(&p, 0, -1, 0, false, &self, err))
		return false;
	close_group(&p, &self);
	return true;
}

const struct counter_ops counter_perf_ops = {
	.kind = COUNTER_PERF,
	.has_cycles = true,
	.interrupts = true,
	.available = perf_available,
	.open = perf_open,
	.read = perf_read,
	.refresh = perf_refresh,
	.close = perf_close,
	.has_misses = perf_has_misses,
};
