/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a second for which a trial holds what it holds. */
#pragma once

#include <stdint.h>

#include "common/units.h"
#include "common/xorshift.h"

#define STRETCH_LEAST_NS (150 * NS_PER_MS)
#define STRETCH_MORE_NS (200 * NS_PER_MS)
/* The part of a stretch that is not counted: caches fill, and stopped processes come to a halt. */
#define STRETCH_SETTLE 0.2

/* How long the next one is: uneven, so that stretches do not fall in step with a program. random:
 * never 0. */
static inline int64_t stretch_ns(uint64_t *random)
{
	return STRETCH_LEAST_NS + (int64_t)(xorshift_share(random) * (double)STRETCH_MORE_NS);
}
