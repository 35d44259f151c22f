/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognizes what is no text at all, before a reader puzzles over its lines. */
#pragma once

#include "common/errmsg.h"

/* Refuses a directory: -1 with err, else 0. What is missing is left to who opens it. */
int input_check_path(const char *path, struct errmsg *err);

/* Looks at the first line of the file: 0, or -1 with err if it begins with a byte order mark. */
int input_check_mark(const char *path, const char *line, struct errmsg *err);
