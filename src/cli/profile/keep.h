/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The profiles that slurmctld chooses partners by: in, out, and a list of them. */
#pragma once

#include <stdbool.h>

/* The file in all of these is `path`, or with NULL that in the StateSaveLocation that slurmctld
 * names. They return an exit status. */

/* Gives the class the histogram in a file that poppa profile wrote. */
int keep_import(const char *path, const char *class_name, const char *histogram);
int keep_remove(const char *path, const char *class_name);
int keep_list(const char *path, bool json);
