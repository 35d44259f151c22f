/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the files that poppa profile writes. */
#pragma once

#include "common/errmsg.h"
#include "striping/reuse/histogram.h"

/* Reads a histogram from a regular file. 0, or -1 with err, which names the file and how to get a
 * good one; h is then undefined. */
int read_histogram(const char *path, struct reuse_histogram *h, struct errmsg *err);
