/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One of two jobs that slow each other down, by an exact measure and without taking a processor. */
/*
 *   quarrel FILE NUMBER SECONDS LOSS [PEACE [WORK]]
 *
 * Both of a pair name the same FILE and the numbers 0 and 1. While the other one is neither stopped
 * nor frozen, this one makes LOSS (0 to 1) less progress; from PEACE seconds after its start on, no
 * less. It ends after WORK seconds of progress or by SIGTERM, if that comes first. Progress is
 * time: one microsecond alone is one beat. It is mostly asleep, so a busy machine hardly disturbs
 * it. In the end it prints the progress that it has made and the time since its start, both in
 * seconds. SIGUSR1 is counted, and how often is printed, too.
 */
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "common/units.h"
#include "heartbeat/poppa_heartbeat.h"

#define STEP_NS (200 * NS_PER_US)
#define HELD_NS (12 * NS_PER_MS) /* whoever has not run for so long was held */

static volatile sig_atomic_t signals, ends;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static void on_end(int sig)
{
	(void)sig;
	ends = 1;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

struct other {
	pid_t pid;
	int stat;
};

/*
 * Whether this process of ours is held. When it last ran would not tell: where the host of a
 * virtual machine takes the processor away, it does not run either.
 */
static bool runs(struct other *o, pid_t pid)
{
	char text[64], state = 0;
	ssize_t n;

	if (pid != o->pid) {
		if (o->stat >= 0)
			close(o->stat);
		snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
		o->stat = pid ? open(text, O_RDONLY | O_CLOEXEC) : -1;
		o->pid = pid;
	}
	n = o->stat < 0 ? -1 : pread(o->stat, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	return sscanf(text, "%*d (quarrel) %c", &state) == 1 && strchr("RS", state);
}

int main(int argc, char **argv)
{
	const struct timespec step = {0, STEP_NS};
	struct other other = {.stat = -1};
	_Atomic pid_t *pid;
	int64_t start = now(), last = start, end, peace = INT64_MAX;
	double loss, progress = 0, beats = 0, work = INFINITY;
	int fd, self;

	if (argc < 5)
		error(64, 0, "quarrel FILE NUMBER SECONDS LOSS [PEACE [WORK]]");
	self = atoi(argv[2]) != 0;
	end = start + atoll(argv[3]) * NS_PER_S;
	loss = atof(argv[4]);
	if (argc > 5)
		peace = start + atoll(argv[5]) * NS_PER_S;
	if (argc > 6)
		work = atof(argv[6]) * 1e6;
	fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, 2 * sizeof(*pid)))
		error(1, errno, "%s", argv[1]);
	pid = mmap(NULL, 2 * sizeof(*pid), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pid == MAP_FAILED)
		error(1, errno, "%s", argv[1]);
	pid[self] = getpid();
	signal(SIGUSR1, on_signal);
	signal(SIGTERM, on_end);
	poppa_heartbeat_open();
	while (last < end && progress < work && !ends) {
		int64_t at, passed;

		nanosleep(&step, NULL);
		at = now();
		passed = at - last;
		last = at;
		if (passed > HELD_NS)
			continue;
		beats += (double)passed / NS_PER_US *
			 (at < peace && runs(&other, pid[1 - self]) ? 1 - loss : 1);
		poppa_heartbeat_add((uint64_t)beats);
		progress += (double)(uint64_t)beats;
		beats -= (double)(uint64_t)beats;
	}
	printf("progress=%.3f seconds=%.3f signals=%d\n", progress / 1e6,
		(double)(now() - start) / NS_PER_S, (int)signals);
	return 0;
}
