/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The freezers of cgroup v1 and v2: their files and words, and how to use them. */
#pragma once

#include <stdbool.h>

struct freezer_words {
	const char *command, *state; /* files: that of the commands, that of the state */
	const char *freeze, *thaw;   /* the commands */
	const char *free;            /* the command file begins so when nobody holds the cgroup */
	const char *begun, *frozen;  /* in the state file: freezing has begun, all are frozen */
};

extern const struct freezer_words freezer_v1, freezer_v2;

/* Writes f->freeze or f->thaw to the command file of a cgroup. 0, or -1 with errno. */
int freezer_command_in(const struct freezer_words *f, const char *dir, const char *text);

/* Opens the command file of a cgroup, close-on-exec; -1 with errno. */
int freezer_open(const struct freezer_words *f, const char *dir);
/* Writes f->freeze or f->thaw to it. 0, or -1 with errno (ENODEV: the cgroup is gone). */
int freezer_command(int fd, const char *text);

/* Whether a cgroup, or one above it, is frozen or about to be; false where that is not known. */
bool freezer_frozen(const struct freezer_words *f, const char *dir);
