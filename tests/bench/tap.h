/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What poppad's own loop takes by its parts, beside which the straightforward one is held. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "straight.h"

struct stage;

/* Of which task a counter or a unit is, where there is to be a stage. */
void tap_know(const void *handle, int task);

/*
 * From here on the blocks of the shutter with this descriptor are timed. With a stage each call is
 * to meet its task there; NULL = wherever it is.
 */
void tap_start(int notify_fd, struct stage *s);

/* Sets the stage for a call about this task: a resume wants it empty (straight.h). */
void tap_set_stage(int task, bool resume, int64_t *taken_ns);

/* Of the last block: what each part took, ns, and how many readings there were. */
const int64_t *tap_parts(void);
int64_t tap_readings(void);
