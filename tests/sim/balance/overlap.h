/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far what slurmctld expects of partners on one cache is off the model that it comes from. */
#pragma once

#include "striping/reuse/histogram.h"

/* Prints a table for caches of these sizes: each program beside all partners, and groups of them,
 * that there are among the programs. */
void overlap_print(const struct reuse_histogram *profile, int programs, const int *size_kb,
	int sizes, double miss_cycles);
