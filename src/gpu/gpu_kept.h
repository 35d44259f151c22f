/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a graphics processor a user's classes of jobs were found to need, in a file of the
 * user's. */
#pragma once

#include <stddef.h>

#include "common/errmsg.h"

/* Lines of a class and a whole percentage, as "poppa gpu sweep --class" writes them and sm:auto
 * reads them. */

/* The file of the calling user: poppa/gpu in XDG_CONFIG_HOME, or in ~/.config. Returns buf, or NULL
 * where the user has neither. */
char *gpu_kept_path(char *buf, size_t size);

/* The percentage of a class, 1 to 100; 0 where none is kept, or -1 with err. */
int gpu_kept_find(const char *path, const char *class_name, struct errmsg *err);

/* Puts a class in the place of what was kept of it. All else stays. Makes the file and its folder.
 * Several may do it at once: each waits for the one before, five seconds at most, by a lock on
 * a file beside it, whose name ends in .lock. Returns 0, or -1 with err. */
int gpu_kept_put(const char *path, const char *class_name, int percent, struct errmsg *err);
