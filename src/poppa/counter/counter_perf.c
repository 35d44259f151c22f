/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts instructions and cycles of a task's threads with the processor's PMU. */
/*
 * One call reads a group of two events. There is a group for each thread that the task has when its
 * counter is opened (it also counts the threads that its thread makes later), or, where that is
 * cheaper, a group for each processor that the task's own cgroup may use. The latter counts nobody
 * else: the kernel switches such a group on only while a process of that cgroup runs. Only user
 * mode is counted, unless the configured event says otherwise: the kernel's work for a task is no
 * progress.
 */
#include "poppa/counter/counter_backend.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poppa/counter/counter_cgroup.h"
#include "poppa/counter/counter_perf.h"

#define PROGRESS_EVENT "perf::INSTRUCTIONS"
#define CYCLES_EVENT "perf::CYCLES"

enum { LAST_PROGRESS, LAST_CYCLES, LAST_ENABLED, LAST_RUNNING };

struct perf {
	pid_t pid;
	char name[NODECONF_EVENT_SIZE]; /* of the progress event */
	struct perf_event_attr progress, cycles;
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
	uint64_t value[2];
};

void counter_perf_scale(const uint64_t now[4], uint64_t last[4], struct counter_sample *sum)
{
	uint64_t enabled = now[LAST_ENABLED] - last[LAST_ENABLED];
	uint64_t running = now[LAST_RUNNING] - last[LAST_RUNNING];
	uint64_t progress = now[LAST_PROGRESS] - last[LAST_PROGRESS];
	uint64_t cycles = now[LAST_CYCLES] - last[LAST_CYCLES];

	/* Others had the PMU all the time, or all but a moment in which the task ran none of its
	 * own instructions. So its progress is unknown, which does not mean zero. */
	if (enabled && (!running || (running < enabled && !progress && !cycles))) {
		sum->missing = true;
		memcpy(last, now, 4 * sizeof(*last));
		return;
	}
	if (enabled > running) {
		double factor = (double)enabled / (double)running;

		progress = (uint64_t)((double)progress * factor + 0.5);
		cycles = (uint64_t)((double)cycles * factor + 0.5);
	}
	sum->progress += progress;
	sum->cycles += cycles;
	memcpy(last, now, 4 * sizeof(*last));
}

/* Opens one group for a thread (cpu is -1), or for a cgroup on one processor (pid is the cgroup's
 * descriptor, and flags say so). */
static int open_group(const struct perf *p, pid_t pid, int cpu, unsigned long flags, bool inherit,
	struct counter_thread *g, struct errmsg *err)
{
	struct perf_event_attr progress = p->progress, cycles = p->cycles;
	char what[NODECONF_EVENT_SIZE + 8];
	int code;

	if (inherit && (counter_sys_inherit(&progress) || counter_sys_inherit(&cycles)))
		return counter_fail(errno, err, "perf: threads cannot be followed");
	snprintf(what, sizeof(what), "perf: %s", p->name);
	g->handle[0] = counter_sys_perf_open(&progress, pid, cpu, -1, flags);
	if (g->handle[0] < 0)
		return counter_perf_open_error(errno, what, err);
	g->handle[1] = counter_sys_perf_open(&cycles, pid, cpu, g->handle[0], flags);
	if (g->handle[1] >= 0)
		return 0;
	code = errno;
	close(g->handle[0]);
	return counter_perf_open_error(code, "perf: " CYCLES_EVENT, err);
}

static int read_group(void *arg, struct counter_thread *g, struct counter_sample *sum)
{
	struct group_read r;
	ssize_t n = counter_sys_read(g->handle[0], &r, sizeof(r));

	(void)arg;
	if (n != sizeof(r)) {
		if (n >= 0)
			errno = EIO;
		return -1;
	}
	counter_perf_scale(
		(const uint64_t[]){r.value[0], r.value[1], r.enabled, r.running}, g->last, sum);
	return 0;
}

static void close_group(void *arg, struct counter_thread *g)
{
	(void)arg;
	close(g->handle[1]);
	close(g->handle[0]);
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

static int perf_open(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err)
{
	struct perf *p = calloc(1, sizeof(*p));
	int code;

	if (!p)
		return counter_fail(ENOMEM, err, "out of memory");
	p->pid = pid;
	if (encode(p, conf, err) || counter_threads_open(&p->threads, &thread_ops, p, pid, err)) {
		code = errno;
		free(p);
		errno = code;
		return -1;
	}
	consider_cpus(p);
	*state = p;
	return 0;
}

static int perf_read(void *state, struct counter_sample *out)
{
	struct perf *p = state;

	if (p->cpus ? read_cpus(p, out) : counter_threads_read(&p->threads, out))
		return -1;
	out->progress += p->earlier.progress;
	out->cycles += p->earlier.cycles;
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
};
