/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rates of a block's windows, and their medians, which do not depend on an estimator. */
#pragma once

#include <stdbool.h>

#include "poppa/estimate/estimator.h"

/* Progress a cycle, or a nanosecond where there are no cycles; NAN for a window without a rate. */
double blockrate_window(const struct est_window *w, bool cycles);

/* Whether every window with progress has cycles, so that the rates of the block can be compared. */
bool blockrate_has_cycles(const struct est_block *block);

/* The median rate of the windows before and after (*co) and of those during (*solo), in the unit of
 * blockrate_window(). The first window before, in which the daemon wakes up, is left out where
 * there are others. false unless both are above 0. */
bool blockrate(const struct est_block *b, double *co, double *solo);
