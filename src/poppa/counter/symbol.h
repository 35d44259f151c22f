/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a function of a running task lies in the file it was mapped from. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"

struct symbol_place {
	char path[PATH_MAX]; /* opens exactly the mapped file, also from another mount namespace */
	uint64_t offset;     /* of the instruction to probe, within the file */
	bool dear;           /* the kernel must single-step that instruction (x86 only) */
};

/*
 * file is an absolute path as the task sees it, or a file name such as libmpi.so.40, which also
 * stands for libmpi.so.40.30.4. Returns 0, or -1 with err and errno: ENODATA if the task has not
 * mapped it or it lacks the symbol, ESRCH if the task is gone.
 */
int symbol_find(pid_t pid, const char *file, const char *symbol, struct symbol_place *out,
	struct errmsg *err);

/*
 * Looks at the bytes at a function's start. Sets *skip to the length of a landing pad (endbr64)
 * that a probe should be put behind, and returns whether the instruction there must be
 * single-stepped.
 */
bool symbol_is_dear(const unsigned char *code, size_t len, unsigned int *skip);
