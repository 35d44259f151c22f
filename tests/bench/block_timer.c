/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times the parts of a block by standing between the shutter and what it calls; the linker puts it
 * there (--wrap). */
#include "block_timer.h"

#include <errno.h>
#include <error.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "poppa/counter/counter.h"
#include "poppa/hold/pause.h"
#include "cpu_stage.h"

/* Calls that concern a co-runner. */
enum about { LOOK, STOP, RESUME, ABOUT };

static struct {
	int notify_fd;
	bool running, stopped, settling;
	bool begun[ABOUT];
	int64_t cpu;      /* of the thread, at the start of the block */
	int64_t clock_ns; /* what the timing itself adds to each call */
	int64_t waited;   /* for a freezer, asleep */
	int64_t staging;
	int64_t part[LOOP_PARTS];
	int64_t readings;
} timer = {.notify_fd = -1};

#define WRAPPED(type, name, ...)                                                                   \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

WRAPPED(int, counter_read, struct counter *c, struct counter_sample *out);
WRAPPED(ssize_t, counter_sys_read, int fd, void *buf, size_t size);
WRAPPED(int, pause_stop, struct pause_unit *u);
WRAPPED(int, pause_stands_still, struct pause_unit *u);
WRAPPED(char, counter_task_state, const struct counter *c);
WRAPPED(bool, pause_resume, struct pause_unit *u, bool look);
WRAPPED(int, clock_nanosleep, clockid_t clock, int flags, const struct timespec *t,
	struct timespec *left);
WRAPPED(int, sched_setaffinity, pid_t task, size_t size, const cpu_set_t *set);
WRAPPED(ssize_t, write, int fd, const void *data, size_t size);

/* The first thing that a block does is to choose its processor, or else to read. */
static void begin_block(void)
{
	if (timer.running || timer.notify_fd < 0)
		return;
	memset(timer.part, 0, sizeof(timer.part));
	timer.stopped = timer.settling = false;
	memset(timer.begun, 0, sizeof(timer.begun));
	timer.waited = timer.readings = timer.staging = 0;
	timer.running = true;
	timer.cpu = straight_clock(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t begin(void)
{
	begin_block();
	return clock_now();
}

/* Where each call is to find its task running; NULL = wherever it is. */
static struct cpu_stage *stage;
static struct {
	const void *handle; /* of a counter or a unit */
	int task;
} owner[2 * STRAIGHT_MAX_TASKS]; /* a counter and a unit each */
static int owners;

void block_timer_know(const void *handle, int task)
{
	owner[owners].handle = handle;
	owner[owners++].task = task;
}

void block_timer_set_stage(int task, bool resume, int64_t *taken_ns)
{
	if (resume)
		cpu_stage_clear(stage, taken_ns);
	else if (cpu_stage_put_on(stage, task, taken_ns))
		error(EXIT_FAILURE, errno, "task %d gets no processor", task);
}

static int64_t begin_on_stage(const void *handle, bool resume)
{
	int64_t start = begin(), taken = 0;

	for (int i = 0; stage && i < owners; i++)
		if (owner[i].handle == handle)
			block_timer_set_stage(owner[i].task, resume, &taken);
	if (stage)
		timer.staging += clock_now() - start;
	return stage ? clock_now() : start;
}

/* The shutter's thread takes a processor of the co-runners', so one of their tasks, the first one
 * here, never runs when it is their turn. */
static int64_t begin_with_co_runner(const void *handle, enum about what)
{
	bool displaced = !timer.begun[what];

	if (displaced)
		begin_block();
	timer.begun[what] = true;
	return displaced ? clock_now() : begin_on_stage(handle, what == RESUME);
}

static void end(enum loop_part part, int64_t start)
{
	timer.part[part] += clock_now() - start - timer.clock_ns;
}

ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size)
{
	timer.readings++;
	return __real_counter_sys_read(fd, buf, size);
}

int __wrap_counter_read(struct counter *c, struct counter_sample *out)
{
	int64_t start = begin_on_stage(c, false), before = timer.readings;
	int rc = __real_counter_read(c, out);

	/* A heartbeat is read without a system call. */
	if (timer.readings == before)
		timer.readings++;
	end(timer.stopped ? LOOP_READ_ALONE : LOOP_READ_TOGETHER, start);
	return rc;
}

int __wrap_pause_stop(struct pause_unit *u)
{
	int64_t start = begin_with_co_runner(u, STOP);
	int rc = __real_pause_stop(u);

	timer.stopped = true;
	end(LOOP_STOP, start);
	return rc;
}

/* Of one that is about to be stopped: it takes the place of a reading. */
char __wrap_counter_task_state(const struct counter *c)
{
	int64_t start = begin_with_co_runner(c, LOOK);
	char state = __real_counter_task_state(c);

	timer.readings++;
	end(LOOP_READ_TOGETHER, start);
	return state;
}

int __wrap_pause_stands_still(struct pause_unit *u)
{
	int64_t start = begin();
	int rc = __real_pause_stands_still(u);

	timer.settling = rc == 0;
	end(LOOP_STOP, start);
	return rc;
}

bool __wrap_pause_resume(struct pause_unit *u, bool look)
{
	int64_t start = begin_with_co_runner(u, RESUME);
	bool foreign = __real_pause_resume(u, look);

	timer.stopped = false;
	end(LOOP_RESUME, start);
	return foreign;
}

/* The sleep of a window is not the loop's work; waiting for a freezer is. */
int __wrap_clock_nanosleep(
	clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	int64_t start = begin(), cpu = straight_clock(CLOCK_THREAD_CPUTIME_ID);
	int rc = __real_clock_nanosleep(clock, flags, t, left);

	timer.part[LOOP_SLEEP] += straight_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (timer.settling) {
		end(LOOP_STOP, start);
		timer.waited += clock_now() - start;
	}
	timer.settling = false;
	return rc;
}

int __wrap_sched_setaffinity(pid_t task, size_t size, const cpu_set_t *set)
{
	begin_block();
	return __real_sched_setaffinity(task, size, set);
}

/* The last thing that the thread does about a block is to say that it has finished. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	if (fd == timer.notify_fd && timer.running) {
		timer.running = false;
		timer.part[LOOP_OTHER] = straight_clock(CLOCK_THREAD_CPUTIME_ID) - timer.cpu +
					 timer.waited - timer.staging;
		for (int i = 0; i < LOOP_PARTS; i++)
			if (i != LOOP_OTHER)
				timer.part[LOOP_OTHER] -= timer.part[i];
	}
	return __real_write(fd, data, size);
}

void block_timer_start(int notify_fd, struct cpu_stage *s)
{
	int64_t start = clock_now();

	for (int i = 0; i < 1000; i++)
		clock_now();
	timer.clock_ns = (clock_now() - start) / 1001;
	timer.notify_fd = notify_fd;
	stage = s;
}

const int64_t *block_timer_parts(void)
{
	return timer.part;
}

int64_t block_timer_readings(void)
{
	return timer.readings;
}
