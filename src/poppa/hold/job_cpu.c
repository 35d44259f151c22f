/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the processor time of everything that is in a job's cgroups. */
#include "poppa/hold/job_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/units.h"

struct process_clock {
	pid_t pid;
	clockid_t id;
	int64_t noted_ns;
};

struct job_cpu {
	char path[PATH_MAX];
	int fd; /* of path; -1: only the processes' clocks are read */
	int64_t noted_ns;
	int clocks;
	bool misses; /* there are such processes without a clock here */
	struct process_clock *clock;
};

struct job_cpu *job_cpu_open(void)
{
	struct job_cpu *c = calloc(1, sizeof(*c));

	if (c)
		c->fd = -1;
	return c;
}

void job_cpu_close(struct job_cpu *c)
{
	if (c && c->fd >= 0)
		close(c->fd);
	if (c)
		free(c->clock);
	free(c);
}

/* cpu.stat of v2 begins with "usage_usec N", cpuacct.usage of v1 is a number of ns. */
int64_t job_cpu_total_ns(const struct job_cpu *c)
{
	static const char usec[] = "usage_usec ";
	const size_t len = sizeof(usec) - 1;
	char text[64];
	ssize_t n = c->fd < 0 ? -1 : pread(c->fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return strncmp(text, usec, len) ? strtoll(text, NULL, 10)
					: strtoll(text + len, NULL, 10) * NS_PER_US;
}

/* Whether this process's clock is read. What strays as a whole is found by the scan, so beside the
 * file this is about threads. */
static bool is_clocked(const struct job_cpu *c, const struct found_process *p)
{
	return !p->stepd && (c->fd < 0 || p->threads > 1);
}

/* Whether the clocks are those of the scan's processes, as far as they are read. */
static bool same_clocks(const struct job_cpu *c, const struct found_tasks *d)
{
	int at = 0;

	for (int i = 0; i < d->processes; i++) {
		if (!is_clocked(c, &d->process[i]))
			continue;
		if (at == JOB_CPU_MAX_CLOCKS)
			return true;
		if (at == c->clocks || c->clock[at++].pid != d->process[i].pid)
			return false;
	}
	return at == c->clocks;
}

bool job_cpu_knows(const struct job_cpu *c, const struct found_tasks *d)
{
	/* The cgroup goes with the job's last step, and comes anew with the next one. */
	return job_cpu_total_ns(c) >= 0 && !strcmp(c->path, d->usage) &&
	       (!*d->home || same_clocks(c, d));
}

/* Returns 0, or -1 with ENOMEM and no clock. */
static int know_clocks(struct job_cpu *c, const struct found_tasks *d)
{
	if (!c->clock)
		c->clock = malloc(JOB_CPU_MAX_CLOCKS * sizeof(*c->clock));
	if (!c->clock)
		return -1;
	for (int i = 0; i < d->processes && !c->misses; i++) {
		pid_t pid = d->process[i].pid;
		clockid_t id;

		if (!is_clocked(c, &d->process[i]) || clock_getcpuclockid(pid, &id))
			continue;
		c->misses = c->clocks == JOB_CPU_MAX_CLOCKS;
		if (!c->misses)
			c->clock[c->clocks++] = (struct process_clock){pid, id, 0};
	}
	return 0;
}

int job_cpu_know(struct job_cpu *c, const struct found_tasks *d)
{
	if (job_cpu_knows(c, d))
		return 0;
	if (c->fd >= 0)
		close(c->fd);
	strcpy(c->path, d->usage);
	c->fd = open(c->path, O_RDONLY | O_CLOEXEC);
	c->clocks = 0;
	c->misses = false;
	return c->fd < 0 || *d->home ? know_clocks(c, d) : 0;
}

bool job_cpu_misses(const struct job_cpu *c)
{
	return c->misses;
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;

	return clock_gettime(id, &t) ? 0 : t.tv_sec * NS_PER_S + t.tv_nsec;
}

void job_cpu_note(struct job_cpu *c)
{
	c->noted_ns = job_cpu_total_ns(c);
	for (int i = 0; i < c->clocks; i++)
		c->clock[i].noted_ns = clock_ns(c->clock[i].id);
}

int64_t job_cpu_ran_ns(const struct job_cpu *c)
{
	int64_t now = job_cpu_total_ns(c), sum = 0, all;

	/* A process that has ended since has no clock; it takes nothing from the others' sum. */
	for (int i = 0; i < c->clocks; i++) {
		int64_t ran = clock_ns(c->clock[i].id) - c->clock[i].noted_ns;

		sum += ran > 0 ? ran : 0;
	}
	all = now >= 0 && c->noted_ns >= 0 ? now - c->noted_ns : 0;
	return all > sum ? all : sum;
}
