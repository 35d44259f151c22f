/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the ranks of waiting, their co-runner and the meter share: a small file mapped by all. */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WAITING_LIFE_S 120 /* nobody runs on for longer, whatever dies */

struct waiting {
	_Alignas(128) uint64_t line;  /* what worker and co-runner contend for */
	_Alignas(128) uint64_t work;  /* iterations of the worker: the job's true progress */
	_Alignas(128) uint64_t polls; /* how often the waiting rank has looked */
	_Alignas(128) int32_t pid[2]; /* of the ranks, once they run */
	int32_t stop;
};

/* Exits when it cannot be had. */
static inline struct waiting *waiting_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct waiting *w = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(*w)))
		w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (w == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return w;
}

/* Where the co-runner runs when last, and where the job runs when not. */
static inline void waiting_pin(int last)
{
	cpu_set_t all, one;
	int cpu = last ? CPU_SETSIZE - 1 : 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu += last ? -1 : 1;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/*
 * Where that is allowed: other load on the machine is not what is to be measured. The kernel may
 * share processors between sessions first, so each process gets a session of its own to prefer.
 */
static inline void waiting_prefer(int realtime)
{
	struct sched_param p = {.sched_priority = realtime};
	FILE *f = NULL;

	if (realtime && !sched_setscheduler(0, SCHED_RR, &p))
		return;
	setpriority(PRIO_PROCESS, 0, -15);
	setpgid(0, getpgid(getppid())); /* the leader of a group could not leave its session */
	if (setsid() > 0)
		f = fopen("/proc/self/autogroup", "we");
	if (f) {
		fputs("-15\n", f);
		fclose(f);
	}
}

/* Additions to the shared line, each followed by some private work that waits for it. */
static inline uint64_t waiting_contend(struct waiting *w, uint64_t x, int additions)
{
	for (int i = 0; i < additions; i++) {
		x ^= __atomic_fetch_add(&w->line, 1, __ATOMIC_SEQ_CST) >> 63;
		for (int j = 0; j < 1; j++)
			x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	}
	return x;
}

static inline int64_t waiting_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int waiting_over(const struct waiting *w, int64_t start)
{
	return __atomic_load_n(&w->stop, __ATOMIC_RELAXED) ||
	       waiting_now() - start > (int64_t)WAITING_LIFE_S * 1000000000;
}
