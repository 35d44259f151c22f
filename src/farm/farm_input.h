/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads tasks, lines of KEY, a tab and a command, as they come. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "farm/farm_job.h"

/* A longer line is no task. */
#define FARM_LINE_MAX ((size_t)1 << 20)

struct farm_input {
	int fd; /* -1: at its end */
	char *buf;
	size_t len, room, taken; /* bytes that are there, that fit, and that were made tasks */
	uint64_t number;         /* of the last line */
	bool too_long;           /* the rest of a line that is too long is left out */
	size_t command_max; /* bytes; a longer command is no task. 0: as FARM_LINE_MAX has it */
};

/* Opens a file, or takes standard input for "-". Returns 0, or -1 with err. */
int farm_input_open(struct farm_input *in, const char *path, struct errmsg *err);
void farm_input_close(struct farm_input *in);
/*
 * Reads once, which waits where nothing is there to be read. Returns 0, or -1 with err where
 * reading fails; at the end of the input fd is -1.
 */
int farm_input_read(struct farm_input *in, struct errmsg *err);
/*
 * Takes the next whole line of what was read. Returns 1 with a task that the caller frees, with
 * *key and *key_len in it until the next call, 0 where there is no whole line, or -1 with err that
 * names a line that is no task. Empty lines are left out.
 */
int farm_input_next(struct farm_input *in, struct farm_line **line, const char **key,
	size_t *key_len, struct errmsg *err);
