/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the system's clocks. */
#include "common/clock.h"

#include "common/units.h"

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_now_ms(void)
{
	return clock_now() / NS_PER_MS;
}

int64_t clock_wall(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t clock_boot(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

int64_t clock_own(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec clock_spec(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

struct timespec clock_wall_in(int64_t wait_ns)
{
	return clock_spec(clock_wall() + wait_ns);
}
