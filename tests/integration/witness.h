/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells how long the machine kept waiting even who is first in line: the host of a virtual one
 * takes its processors away. */
#pragma once

#include <stdint.h>

/*
 * Starts a thread on each processor that is to wake up every millisecond, ahead of the guard in
 * real-time priority. 0, or -1 with errno; at most once a process.
 */
int witness_start(void);

/*
 * For how much of the time from a to b, CLOCK_MONOTONIC in ns and not long ago, at least one of
 * them was waiting to run, in ns.
 */
int64_t witness_lost(int64_t a, int64_t b);
