/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Appends to files of lines, replaces them, and reads them after a crash. */
#include "common/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fsio.h"

size_t journal_lines(char *text, journal_fn fn, void *arg, int *damaged)
{
	char *line = text, *end;

	for (*damaged = 0; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (*line && !fn(line, arg))
			++*damaged;
	}
	return (size_t)(line - text);
}

static int cannot(const char *what, const char *path, struct errmsg *err)
{
	return errmsg_set(err, "cannot %s %s: %s", what, path, strerror(errno));
}

int journal_open(struct journal *j, const char *path, off_t end, struct errmsg *err)
{
	j->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	j->end = end;
	if (j->fd >= 0 && !ftruncate(j->fd, end))
		return 0;
	cannot("write", path, err);
	journal_close(j);
	return -1;
}

void journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}

int journal_append(
	struct journal *j, const char *path, const char *text, size_t len, struct errmsg *err)
{
	ssize_t n = write(j->fd, text, len);

	if (n == (ssize_t)len) {
		j->end += n;
		return 0;
	}
	if (n >= 0)
		errno = ENOSPC;
	cannot("write", path, err);
	/* A part of the text would make the next line unreadable. */
	if (ftruncate(j->fd, j->end))
		cannot("write", path, err);
	return -1;
}

int journal_sync(const struct journal *j, const char *path, struct errmsg *err)
{
	return fdatasync(j->fd) ? cannot("write", path, err) : 0;
}

int journal_append_at(const char *path, off_t end, const char *text, size_t len, struct errmsg *err)
{
	struct journal j = {.fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC), .end = end};
	struct stat st;
	int rc = -1;

	if (j.fd < 0 || fstat(j.fd, &st))
		rc = cannot("write", path, err);
	else if (st.st_size != end)
		rc = errmsg_set(err, "cannot write %s: %s", path, strerror(ESTALE));
	else if (!journal_append(&j, path, text, len, err))
		rc = journal_sync(&j, path, err);
	/* A server may report a full disk only at the close. */
	if (j.fd >= 0 && close(j.fd) && !rc)
		rc = cannot("write", path, err);
	return rc;
}

int journal_replace(const char *path, const char *text, size_t len, struct errmsg *err)
{
	return fsio_write(path, text, len, 0600, 1, err);
}

int journal_replace_by(const char *path, void (*write)(const void *from, FILE *f), const void *from,
	struct errmsg *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	if (f)
		write(from, f);
	rc = !f || fclose(f) ? errmsg_set(err, "cannot write %s: out of memory", path)
			     : journal_replace(path, text, len, err);
	free(text);
	return rc;
}

int journal_keep_damaged(const char *path, struct errmsg *err)
{
	char aside[PATH_MAX + 16];

	snprintf(aside, sizeof(aside), "%s.damaged", path);
	unlink(aside);
	return link(path, aside)
		       ? errmsg_set(err, "cannot keep %s as %s: %s", path, aside, strerror(errno))
		       : 0;
}

int journal_lock(const char *path, struct errmsg *err)
{
	char copy[PATH_MAX];
	int fd = -1;

	if (snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy))
		fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !flock(fd, LOCK_EX))
		return fd;
	errmsg_set(err, "cannot lock the folder of %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}
