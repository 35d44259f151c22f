/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the monotonic clock, and what a thread has used. */
#include "common/clock.h"

#include <time.h>

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

int64_t clock_own(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
