/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads whole files, and replaces files so that a crash at any moment leaves a whole one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/errmsg.h"

/* Reads a file of at most max bytes. Returns a terminated buffer that the caller frees, or NULL
 * with errno and err. len may be NULL. */
char *fsio_read(const char *path, size_t max, size_t *len, struct errmsg *err);

/* The same of an open file, which stays open; path is what err calls it. */
char *fsio_read_fd(int fd, const char *path, size_t max, size_t *len, struct errmsg *err);

/*
 * Replaces path in one step: writes a temporary file beside it and renames that. Where durable is
 * set, file and directory are synced. Readers see the old or the new content, never a mix. Returns
 * 0, or -1 with errno and err.
 */
int fsio_write(const char *path, const void *data, size_t len, mode_t mode, int durable,
	struct errmsg *err);

/* Whether fsio_output() replaces that file or makes it; else what is written twice is there twice.
 */
bool fsio_output_replaces(const char *path);

/*
 * Writes a result to the file that a user named: replaces a regular file in one step, or makes it,
 * without syncing. What a link leads to, a device or a fifo is written into and stays what it is.
 * Returns 0, or -1 with errno and err.
 */
int fsio_output(const char *path, const void *data, size_t len, mode_t mode, struct errmsg *err);

/* Makes path and its missing parents. An existing directory is left as it is. */
int fsio_mkdirs(const char *path, mode_t mode, struct errmsg *err);

/* The path of a file in the folder of this program, as in a build tree. Returns buf, or NULL where
 * it is not there for access(2) with this mode. */
char *fsio_beside(const char *name, int access_mode, char *buf, size_t size);

/* The path of another program of the suite, which no user calls: beside this program in a build
 * tree, else where it is installed. Returns buf. */
char *fsio_helper(const char *name, char *buf, size_t size);
