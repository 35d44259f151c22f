/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What poppad's own loop takes by its parts, beside which the straightforward one is held. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "straight.h"

struct cpu_stage;

/* Of which task a counter or a unit is, where there is to be a stage. */
void block_timer_know(const void *handle, int task);

/*
 * From here on the blocks of the shutter with this descriptor are timed. With a stage each call is
 * to meet its task there; NULL = wherever it is.
 */
void block_timer_start(int notify_fd, struct cpu_stage *s);

/* Sets the stage for a call about this task: a resume wants it empty (straight.h). */
void block_timer_set_stage(int task, bool resume, int64_t *taken_ns);

/* Of the last block: what each part took, ns, and how many readings there were. */
const int64_t *block_timer_parts(void);
int64_t block_timer_readings(void);
