/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of lines that outlive a crash: lines are added at the end, or all are replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/errmsg.h"

/*
 * A crash, at whatever moment, leaves all lines up to the last journal_replace() or journal_sync(),
 * and any number of the bytes that were appended later. So the last line may have no end. Nobody
 * relies on that line yet: readers ignore it, and journal_open() cuts it off before the next append
 * would complete it. Each file has one writer at a time.
 */
struct journal {
	int fd; /* -1 = not open */
	off_t end;
};

/*
 * Calls fn for each line of text that has an end, without that end; text is changed. Empty lines
 * are skipped. fn returns false for a line that it cannot read; *damaged becomes the number of such
 * lines. Returns the offset at which the last line ends.
 */
typedef bool (*journal_fn)(const char *line, void *arg);
size_t journal_lines(char *text, journal_fn fn, void *arg, int *damaged);

/* Opens a file for journal_append(), creates it where it is missing, and cuts it at end. Returns 0,
 * or -1 with err and j not open. */
int journal_open(struct journal *j, const char *path, off_t end, struct errmsg *err);
void journal_close(struct journal *j);

/* Adds text at the end with one write that does not wait for the disk. Returns 0, or -1 with err
 * and nothing added. */
int journal_append(
	struct journal *j, const char *path, const char *text, size_t len, struct errmsg *err);

/* Waits until all that was appended is on the disk. Returns 0, or -1 with err. */
int journal_sync(const struct journal *j, const char *path, struct errmsg *err);

/* Opens, appends, syncs and closes. Returns 0, or -1 with err: also where the file is missing or
 * does not end at end, because then somebody else has written it. */
int journal_append_at(
	const char *path, off_t end, const char *text, size_t len, struct errmsg *err);

/* Replaces the file in one step, on the disk, too. Whoever has it open must open it again. Returns
 * 0, or -1 with err and the old file in place. */
int journal_replace(const char *path, const char *text, size_t len, struct errmsg *err);

/* The same with what write() writes. */
int journal_replace_by(const char *path, void (*write)(const void *from, FILE *f), const void *from,
	struct errmsg *err);

/* Links the file as PATH.damaged, too, so that a copy stays when path is replaced. An older
 * PATH.damaged is lost. Returns 0, or -1 with err. */
int journal_keep_damaged(const char *path, struct errmsg *err);

/*
 * For a file that commands read, change and replace: waits until nobody else does, and keeps others
 * from it until the answer is closed: a descriptor of the file's folder, which must be there. -1
 * with err. Take it before the file is read to be written again; who only reads needs none.
 */
int journal_lock(const char *path, struct errmsg *err);
