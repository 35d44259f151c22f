/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one place that reads the system's clocks. */
#pragma once

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, ns and ms: times everything on the node, because nobody can set it. */
int64_t clock_now(void);
int64_t clock_now_ms(void);

/* CLOCK_REALTIME, ns since 1970. */
int64_t clock_wall(void);

/* CLOCK_BOOTTIME, ns: runs also while the machine is suspended. */
int64_t clock_boot(void);

/* Processor time of the calling thread, ns. */
int64_t clock_own(void);

/* The same time as seconds and nanoseconds. */
struct timespec clock_spec(int64_t ns);

/* The time on CLOCK_REALTIME wait_ns from now, as pthread_cond_timedwait() wants it. */
struct timespec clock_wall_in(int64_t wait_ns);
