/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks that everything on the node is timed with. */
#ifndef POPPA_COMMON_CLOCK_H
#define POPPA_COMMON_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC, ns. */
int64_t clock_now(void);

/* Processor time of the calling thread, ns. */
int64_t clock_own(void);

#endif
