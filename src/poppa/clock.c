/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the monotonic clock. */
#include "poppa/clock.h"

#include <time.h>

#include "common/units.h"

int64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}
