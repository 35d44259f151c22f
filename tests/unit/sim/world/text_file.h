/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A text as a file, for tests of readers. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_FILE_PATH 64

/* Sets the path, of TEXT_FILE_PATH bytes, of a new file with that text; the caller removes it. */
static inline void text_file(const char *text, char *path)
{
	FILE *f;
	int fd;

	strcpy(path, "/tmp/poppa-text-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	fputs(text, f);
	fclose(f);
}
