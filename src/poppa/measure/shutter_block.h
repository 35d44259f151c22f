/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One block of the shutter (Algorithms 1 and 2), for the real-time thread. */
#pragma once

#include <stdint.h>

#include "poppa/hold/guardctl.h"
#include "poppa/hold/held.h"
#include "poppa/measure/shutter_plan.h"

/* The body of Algorithm 3's loop, without its sleep: runs the block of p->lone, of p->kind.
 * Whatever p->outcome is, nothing is held stopped when it returns. It allocates nothing and takes
 * no lock. */
void shutter_block(struct held_file *held, struct guard *guard, struct shutter_plan *p);

/* The longest time, ns, for which a job may be held stopped before the guard resumes it. A long
 * block adds its length beyond the region "during". */
int64_t shutter_deadline_ns(int64_t shutter_ns);
