/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of the perf backend that need no PMU, declared for unit tests. */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "poppa/counter/counter.h"

/* Gives the kernel's encoding of a libpfm4 event name ("INSTRUCTIONS",
 * "icx::UNHALTED_CORE_CYCLES"): user mode only, unless the name ends in :k or :u:k. 0, or -1 with
 * err and errno. */
int counter_perf_encode(const char *event, struct perf_event_attr *attr, struct errmsg *err);

/* Adds to sum what a group counted since its last read, scaled up for the time in which the PMU had
 * no room for it. now and last hold progress, cycles, ns enabled, ns running and misses; last
 * becomes now.
 * Sets sum->missing where the PMU never had room for it in that time. */
void counter_perf_scale(const uint64_t now[5], uint64_t last[5], struct counter_sample *sum);
