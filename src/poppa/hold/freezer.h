/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the files and words of the freezers of cgroup v1 and v2. */
#pragma once

#include <stdbool.h>

struct freezer_words {
	const char *command, *state; /* files: what is written, what tells the truth */
	const char *freeze, *thaw;   /* written to the first */
	const char *free;            /* how it begins when nobody holds the cgroup */
	const char *begun, *frozen;  /* in the second, when it is on its way and when all stands */
};

extern const struct freezer_words freezer_v1, freezer_v2;

/* Freezes, or thaws, a cgroup. 0, or -1 with errno. */
int freezer_freeze(const struct freezer_words *f, const char *dir);
int freezer_thaw(const struct freezer_words *f, const char *dir);

/* The file of a cgroup by which it is frozen and thawed, close-on-exec, or -1 with errno; and a
 * command to it, f->freeze or f->thaw: 0, or -1 with errno (ENODEV: the cgroup is gone). */
int freezer_open(const struct freezer_words *f, const char *dir);
int freezer_command(int fd, const char *text);

/* Whether a cgroup, or one above it, is frozen or about to be; false where that cannot be told. */
bool freezer_frozen(const struct freezer_words *f, const char *dir);
