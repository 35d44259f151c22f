/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thaws a cgroup by its directory, for programs that clean up after themselves. */
#pragma once

#include <errno.h>
#include <unistd.h>

#include "poppa/hold/freezer.h"

/* 0, or -1 with errno. */
static inline int thaw(const struct freezer_words *f, const char *dir)
{
	int fd = freezer_open(f, dir), rc, saved;

	if (fd < 0)
		return -1;
	rc = freezer_command(fd, f->thaw);
	saved = errno;
	close(fd);
	errno = saved;
	return rc;
}
