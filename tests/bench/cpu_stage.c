/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stage for tasks that share one processor, on which the bench puts them one at a time. */
#include "cpu_stage.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/units.h"
#include "common/clock.h"

#define NOBODY (-1)
#define PATIENCE (1 * NS_PER_S)
#define LEAVE (30 * NS_PER_US) /* from the last word of a task to its sleep; ample */
#define LINE 64

/*
 * Each on a line of its own: the one on stage looks at its call all the time. A call has a number
 * of its own, as a task that was stopped may see the next one without having seen the end of the
 * one before.
 */
struct call {
	_Alignas(LINE) _Atomic uint32_t number; /* 0 = not on; a futex */
};

struct cpu_stage {
	_Alignas(LINE) _Atomic uint32_t answered; /* the call that was answered last */
	/* The caller's own: */
	int called;
	uint32_t calls;
	struct call call[];
};

struct cpu_stage *cpu_stage_new(int tasks)
{
	size_t size = sizeof(struct cpu_stage) + (size_t)tasks * sizeof(struct call);
	struct cpu_stage *s =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return NULL;
	s->called = NOBODY;
	return s;
}

void cpu_stage_play(struct cpu_stage *s, int task, void (*work)(void))
{
	_Atomic uint32_t *number = &s->call[task].number;
	uint32_t last = 0, now;

	for (;;) {
		now = *number;
		if (!now) {
			syscall(SYS_futex, number, FUTEX_WAIT, 0, NULL, NULL, 0);
			continue;
		}
		work();
		if (now != last)
			s->answered = last = now;
	}
}

int cpu_stage_put_on(struct cpu_stage *s, int task, int64_t *taken_ns)
{
	int64_t start = clock_now(), now = start;

	if (s->called != task) {
		if (s->called != NOBODY)
			s->call[s->called].number = 0;
		s->called = task;
		s->call[task].number = ++s->calls;
		syscall(SYS_futex, &s->call[task].number, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	while (s->answered != s->calls && now - start < PATIENCE)
		now = clock_now();
	*taken_ns += clock_now() - start;
	if (s->answered == s->calls)
		return 0;
	errno = ETIME;
	return -1;
}

void cpu_stage_clear(struct cpu_stage *s, int64_t *taken_ns)
{
	int64_t start = clock_now();

	if (s->called != NOBODY)
		s->call[s->called].number = 0;
	s->called = NOBODY;
	while (clock_now() - start < LEAVE)
		;
	*taken_ns += clock_now() - start;
}
