/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of lines that outlive a crash: added to at the end, or replaced as a whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/errmsg.h"

/*
 * What a crash leaves, at whatever moment it comes: all lines of the last journal_replace() and of
 * each journal_sync() since then; of what was appended later, the lines up to some byte. So the
 * last line may have no end. It was promised to nobody: readers ignore it, and journal_open() cuts
 * it off before something else makes a line of it. Each file has one writer at a time.
 */
struct journal {
	int fd; /* -1 = not open */
	off_t end;
};

/*
 * Calls fn for each line of text that has an end, without that end; text is changed. Empty lines
 * are passed over. fn returns false for a line that it cannot read. *damaged: out, how many such
 * lines there are. Returns where the last line ends.
 */
typedef bool (*journal_fn)(const char *line, void *arg);
size_t journal_lines(char *text, journal_fn fn, void *arg, int *damaged);

/* Opens a file for journal_append(), makes it where it is missing, and cuts it at end. Returns 0,
 * or -1 with err and j not open. */
int journal_open(struct journal *j, const char *path, off_t end, struct errmsg *err);
void journal_close(struct journal *j);

/* Adds text at the end with one write, which waits for no disk: all of it or, with -1 and err,
 * nothing. */
int journal_append(
	struct journal *j, const char *path, const char *text, size_t len, struct errmsg *err);

/* Brings what was appended to the disk. Returns 0, or -1 with err. */
int journal_sync(const struct journal *j, const char *path, struct errmsg *err);

/* Opens, appends, syncs and closes. Returns -1 with err also where the file is not there or does
 * not end at end: then somebody else has written it. */
int journal_append_at(
	const char *path, off_t end, const char *text, size_t len, struct errmsg *err);

/* Replaces the file in one step, and brings it to the disk. Who has it open must open it again.
 * Returns 0, or -1 with err and the old file in place. */
int journal_replace(const char *path, const char *text, size_t len, struct errmsg *err);

/* Keeps the file also as PATH.damaged, in place of one that is there, until path is replaced.
 * Returns 0, or -1 with err. */
int journal_keep_damaged(const char *path, struct errmsg *err);
