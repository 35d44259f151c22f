/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole-file reading, and writing that survives a crash at any moment. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/errmsg.h"

/* Reads at most max bytes; the terminated buffer is the caller's to free. NULL with errno and err
 * set on failure. */
char *fsio_read(const char *path, size_t max, size_t *len, struct errmsg *err);

/*
 * Replaces path in one step: temporary file beside it, fsync when durable, rename, fsync of the
 * directory when durable. Readers see the old or the new content, never a mix.
 */
int fsio_write(const char *path, const void *data, size_t len, mode_t mode, int durable,
	struct errmsg *err);

/* Makes path and its missing parents. An existing directory is left as it is. */
int fsio_mkdirs(const char *path, mode_t mode, struct errmsg *err);
