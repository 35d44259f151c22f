/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several programs suit one cache, by their histograms. */
#pragma once

#include <stdbool.h>

/* Reads count files that poppa profile wrote and prints what groups of lanes of these programs are
 * expected to do on a cache of so many KiB. Returns an exit status. */
int compare_programs(char *const *files, int count, int lanes, int cache_kib, bool json);
