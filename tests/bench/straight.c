/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Algorithms 1 to 3 written down plainly: a read for each task and event, a kill for each task. */
#include "straight.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/units.h"

/* As the kernel answers a read of one event with both times. */
struct reading {
	uint64_t value, enabled, running;
};

int64_t straight_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int straight_open(struct straight *s, const struct perf_event_attr event[STRAIGHT_EVENTS])
{
	for (int t = 0; t < s->tasks; t++)
		for (int e = 0; e < STRAIGHT_EVENTS; e++)
			s->task[t].event[e] = -1;
	for (int t = 0; t < s->tasks; t++) {
		for (int e = 0; e < STRAIGHT_EVENTS; e++) {
			struct perf_event_attr attr = event[e];

			attr.read_format =
				PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
			s->task[t].event[e] = (int)syscall(SYS_perf_event_open, &attr,
				s->task[t].pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
			if (s->task[t].event[e] < 0) {
				int saved = errno;

				straight_close(s);
				errno = saved;
				return -1;
			}
		}
	}
	return 0;
}

void straight_close(struct straight *s)
{
	for (int t = 0; t < s->tasks; t++)
		for (int e = 0; e < STRAIGHT_EVENTS; e++)
			if (s->task[t].event[e] >= 0)
				close(s->task[t].event[e]);
}

static void ahead(struct straight *s, int task, bool resume)
{
	if (s->ahead && task != s->displaced)
		s->ahead(task, resume, &s->taken_ns);
}

static uint64_t read_counters(struct straight *s, int task)
{
	const struct straight_task *t = &s->task[task];
	uint64_t sum = 0;

	for (int e = 0; e < STRAIGHT_EVENTS; e++) {
		struct reading r;

		s->readings++;
		ahead(s, task, false);
		if (read(t->event[e], &r, sizeof(r)) == sizeof(r))
			sum += r.running ? r.value * r.enabled / r.running : 0;
	}
	return sum;
}

/* The counters of one job's tasks, or of all (-1). */
static uint64_t read_all(struct straight *s, int job, int64_t *part)
{
	int64_t start = straight_clock(CLOCK_MONOTONIC), taken = s->taken_ns;
	uint64_t sum = 0;

	for (int t = 0; t < s->tasks; t++)
		if (job < 0 || s->task[t].job == job)
			sum += read_counters(s, t);
	*part += straight_clock(CLOCK_MONOTONIC) - start - (s->taken_ns - taken);
	return sum;
}

/* Algorithm 1, for one job or, as Algorithm 3 has it in parallel, for all. */
static void measure(
	struct straight *s, int job, int64_t shutter_ns, int windows, int64_t *part, int64_t *sleep)
{
	struct timespec length = {0, shutter_ns / windows};

	for (int k = 0; k < windows; k++) {
		uint64_t before = read_all(s, job, part);

		*sleep -= straight_clock(CLOCK_THREAD_CPUTIME_ID);
		nanosleep(&length, NULL);
		*sleep += straight_clock(CLOCK_THREAD_CPUTIME_ID);
		s->sum += read_all(s, job, part) - before;
	}
}

static void signal_others(struct straight *s, int lone, int sig, int64_t *part)
{
	int64_t start = straight_clock(CLOCK_MONOTONIC), taken = s->taken_ns;

	for (int t = 0; t < s->tasks; t++) {
		if (s->task[t].job == lone)
			continue;
		ahead(s, t, sig == SIGCONT);
		kill(s->task[t].pid, sig);
	}
	*part += straight_clock(CLOCK_MONOTONIC) - start - (s->taken_ns - taken);
}

void straight_loop(
	struct straight *s, int lone, int64_t shutter_ns, int windows, int64_t part[LOOP_PARTS])
{
	int64_t cpu = straight_clock(CLOCK_THREAD_CPUTIME_ID), spent = 0, own[LOOP_PARTS] = {0};

	s->taken_ns = 0;
	measure(s, -1, shutter_ns, windows, &own[LOOP_READ_TOGETHER], &own[LOOP_SLEEP]);
	signal_others(s, lone, SIGSTOP, &own[LOOP_STOP]);
	measure(s, lone, shutter_ns, windows, &own[LOOP_READ_ALONE], &own[LOOP_SLEEP]);
	signal_others(s, lone, SIGCONT, &own[LOOP_RESUME]);
	measure(s, -1, shutter_ns, windows, &own[LOOP_READ_TOGETHER], &own[LOOP_SLEEP]);
	for (int i = 0; i < LOOP_PARTS; i++)
		spent += own[i];
	own[LOOP_OTHER] = straight_clock(CLOCK_THREAD_CPUTIME_ID) - cpu - spent - s->taken_ns;
	for (int i = 0; i < LOOP_PARTS; i++)
		part[i] += own[i];
}
