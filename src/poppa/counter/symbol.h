/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds where a function of a running task lies in the file that it was mapped from. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"

struct symbol_place {
	char path[PATH_MAX]; /* opens exactly the mapped file, whatever its mount namespace */
	uint64_t offset;     /* of the instruction to probe, within the file */
	bool dear;           /* the kernel must single-step that instruction (x86 only) */
};

/* file is an absolute path as the task sees it, or a file name such as libmpi.so.40, which also
 * stands for libmpi.so.40.30.4. Returns 0, or -1 with err and errno: ENODATA if the task has not
 * mapped the file or the file lacks the symbol, ESRCH if the task is gone; EREMOTE as
 * symbol_pin(); ETIMEDOUT or EBUSY if the file's file system does not answer (timed_call.h). */
int symbol_find(pid_t pid, const char *file, const char *symbol, struct symbol_place *out,
	struct errmsg *err);

/*
 * A descriptor (O_PATH) of the file at path, to probe this file and no other, or -1 with err and
 * errno: EREMOTE where a user may serve its file system. While the kernel puts a probe into a file
 * it reads from it and keeps all processes of the host from forking: a user's server could make
 * that last for as long as it likes. May wait for a file system (timed_call.h).
 */
int symbol_pin(const char *path, struct errmsg *err);

/* Looks at the first bytes of a function. Sets *skip to the length of a landing pad (endbr64),
 * which the probe must come after, and returns whether the kernel must single-step what follows it.
 */
bool symbol_is_dear(const unsigned char *code, size_t len, unsigned int *skip);
