/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names the type of this node, so that nodes alike share what their jobs tell of cache refill. */
#pragma once

#include "accounting/record/slow_prior.h"

/*
 * Writes the processor's model and the size of its last-level cache, such as "AMD EPYC 7763 64-Core
 * Processor, L3 32768K", from /proc/cpuinfo and sysfs below root ("" = of this host). The text is
 * printable ASCII; what is longer is cut. It is "" where the model is not known.
 */
void node_type_read(const char *root, char type[SLOW_NODE_TYPE]);
