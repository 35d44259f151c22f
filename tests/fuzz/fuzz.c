/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers of the fuzz targets. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_broken(const char *promise, const char *file, int line)
{
	fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
	abort();
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		MUST(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	MUST(!ftruncate(fd, 0));
	MUST(pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}
