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
#include "poppa/hold/proc.h"

/* Its id is made of the pid, which another process may have by now. */
struct process_clock {
	clockid_t id;
	pid_t pid;
	uint64_t starttime;
	int64_t noted_ns;
};

struct usage_file {
	char path[PATH_MAX];
	int fd; /* -1: there is none */
	int64_t noted_ns;
};

struct job_cpu {
	struct usage_file job, user; /* without the first, the processes' clocks are read */
	int clocks;
	bool misses; /* there are processes without a clock here */
	struct process_clock *clock;
};

struct job_cpu *job_cpu_open(void)
{
	struct job_cpu *c = calloc(1, sizeof(*c));

	if (c)
		c->job.fd = c->user.fd = -1;
	return c;
}

static void close_file(struct usage_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static void open_file(struct usage_file *f, const char *path)
{
	close_file(f);
	strcpy(f->path, path);
	if (*path)
		f->fd = open(path, O_RDONLY | O_CLOEXEC);
}

void job_cpu_close(struct job_cpu *c)
{
	if (!c)
		return;
	close_file(&c->job);
	close_file(&c->user);
	free(c->clock);
	free(c);
}

/* cpu.stat of v2 begins with "usage_usec N", cpuacct.usage of v1 is a number of ns. */
static int64_t read_usage(const struct usage_file *f)
{
	static const char usec[] = "usage_usec ";
	const size_t len = sizeof(usec) - 1;
	char text[64];
	ssize_t n = f->fd < 0 ? -1 : pread(f->fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return strncmp(text, usec, len) ? strtoll(text, NULL, 10)
					: strtoll(text + len, NULL, 10) * NS_PER_US;
}

int64_t job_cpu_total_ns(const struct job_cpu *c)
{
	return read_usage(&c->job);
}

int64_t job_cpu_user_ns(const struct job_cpu *c)
{
	return read_usage(&c->user);
}

/* Whether the user's file is the one that is open, or is not there as before. */
static bool knows_user(const struct usage_file *f, const char *path)
{
	return !strcmp(f->path, path) &&
	       (read_usage(f) >= 0 || (f->fd < 0 && (!*path || access(path, F_OK))));
}

bool job_cpu_knows(const struct job_cpu *c, const struct found_tasks *d)
{
	/* The cgroup goes with the job's last step, and comes anew with the next one. */
	return job_cpu_total_ns(c) >= 0 && !strcmp(c->job.path, d->usage) &&
	       knows_user(&c->user, d->user_usage);
}

int job_cpu_know(struct job_cpu *c, const struct found_tasks *d)
{
	struct process_clock *clock;

	if (job_cpu_knows(c, d))
		return 0;
	open_file(&c->job, d->usage);
	open_file(&c->user, d->user_usage);
	c->clocks = 0;
	c->misses = false;
	if (c->job.fd >= 0)
		return 0;
	clock = c->clock ? c->clock : malloc(JOB_CPU_MAX_CLOCKS * sizeof(*clock));
	if (!clock)
		return -1;
	c->clock = clock;
	for (int i = 0; i < d->processes && !c->misses; i++) {
		clockid_t id;

		if (d->process[i].stepd || clock_getcpuclockid(d->process[i].pid, &id))
			continue;
		c->misses = c->clocks == JOB_CPU_MAX_CLOCKS;
		if (!c->misses)
			clock[c->clocks++] = (struct process_clock){.id = id,
				.pid = d->process[i].pid,
				.starttime = d->process[i].starttime};
	}
	return 0;
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
	c->job.noted_ns = read_usage(&c->job);
	c->user.noted_ns = read_usage(&c->user);
	for (int i = 0; i < c->clocks; i++)
		c->clock[i].noted_ns = clock_ns(c->clock[i].id);
}

static bool is_same(const struct process_clock *c)
{
	struct proc_stat st;

	return !proc_stat(c->pid, &st) && st.starttime == c->starttime;
}

/* Since the note; 0 where it is not known. */
static int64_t grown(const struct usage_file *f)
{
	int64_t now = read_usage(f);

	return now >= 0 && f->noted_ns >= 0 ? now - f->noted_ns : 0;
}

int64_t job_cpu_ran_ns(const struct job_cpu *c, int64_t *all)
{
	int64_t sum = grown(&c->job);

	/* A process that has ended since has no clock; it takes nothing from the others' sum. */
	for (int i = 0; i < c->clocks; i++) {
		int64_t ran = clock_ns(c->clock[i].id) - c->clock[i].noted_ns;

		if (ran > 0 && is_same(&c->clock[i]))
			sum += ran;
	}
	*all = grown(&c->user);
	*all = *all > sum ? *all : sum;
	return sum;
}
