/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a program under Valgrind and follows its references. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "striping/reuse/histogram.h"

/*
 * Runs argv[0], found in PATH, with standard input and output as they are, under Valgrind's tool
 * lackey, and counts the distances of its loads and stores. A reference that loads and stores
 * counts once; one over the border of a line counts for its first line. most: after so many
 * references the program is ended by SIGTERM, and 5 s later by SIGKILL; 0 = never. progress: a line
 * on standard error every few seconds. Returns 0, or -1 with err where valgrind or the program
 * cannot be run or fails.
 */
int trace_program(char *const *argv, uint64_t most, bool progress, struct reuse_histogram *h,
	struct errmsg *err);
