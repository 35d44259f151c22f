/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The perf backend's parts that need no PMU, for unit tests. */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "poppa/counter/counter.h"

/*
 * The kernel's encoding of a libpfm4 event name ("INSTRUCTIONS", "icx::UNHALTED_CORE_CYCLES"), user
 * mode only unless the name ends in :k or :u:k. Returns 0, or -1 with err and errno
 * (counter_event.c).
 */
int counter_perf_encode(const char *event, struct perf_event_attr *attr, struct errmsg *err);

/*
 * Adds what one thread counted between two reads of its group, scaled up by the share of the time
 * in which the PMU had room for the group. now and last hold progress, cycles, ns enabled and ns
 * running; last becomes now. Sets sum->missing where the group had no room all the time.
 */
void counter_perf_scale(const uint64_t now[4], uint64_t last[4], struct counter_sample *sum);
