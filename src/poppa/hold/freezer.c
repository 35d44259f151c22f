/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Freezes, thaws and looks at a cgroup by its directory. */
#include "poppa/hold/freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct freezer_words freezer_v1 = {.command = "freezer.state",
	.state = "freezer.state",
	.freeze = "FROZEN",
	.thaw = "THAWED",
	.free = "THAWED",
	.begun = "FREEZING",
	.frozen = "FROZEN"};

const struct freezer_words freezer_v2 = {.command = "cgroup.freeze",
	.state = "cgroup.events",
	.freeze = "1",
	.thaw = "0",
	.free = "0",
	.begun = "frozen 1",
	.frozen = "frozen 1"};

static int open_file(const char *dir, const char *file, int flags)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, flags | O_CLOEXEC);
}

int freezer_open(const struct freezer_words *f, const char *dir)
{
	return open_file(dir, f->command, O_RDWR);
}

int freezer_command(int fd, const char *text)
{
	return pwrite(fd, text, strlen(text), 0) < 0 ? -1 : 0;
}

int freezer_command_in(const struct freezer_words *f, const char *dir, const char *text)
{
	int fd = freezer_open(f, dir), rc, saved;

	if (fd < 0)
		return -1;
	rc = freezer_command(fd, text);
	saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

bool freezer_frozen(const struct freezer_words *f, const char *dir)
{
	int fd = open_file(dir, f->state, O_RDONLY);
	char text[128];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, f->begun) || strstr(text, f->frozen);
}
