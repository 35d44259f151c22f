/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One plain rate a region of a block, for what must not depend on an estimator. */
#ifndef POPPA_ESTIMATE_BLOCKRATE_H
#define POPPA_ESTIMATE_BLOCKRATE_H

#include <stdbool.h>

#include "poppa/estimate/estimator.h"

/*
 * The median rate of the windows before and after (*co) and of those during (*solo), in progress a
 * cycle, or a nanosecond without cycles. The first window of the block, in which the daemon wakes
 * up, is left out where there are others. false unless both are above 0.
 */
bool blockrate(const struct est_block *b, double *co, double *solo);

#endif
