/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files in slurmctld's StateSaveLocation that commands change, and slurmctld reads. */
#pragma once

#include <limits.h>

#include "common/errmsg.h"

/* Finds the file of that name, or takes the path that an option named (NULL: none). Copies where it
 * is into buf of PATH_MAX bytes. 0, or -1 with err. */
int state_file_find(
	const char *option, const char *path, const char *name, char *buf, struct errmsg *err);

/*
 * Begins a change of the file at path: root becomes the owner of its folder, and nobody else
 * changes it until the answer is closed (journal_lock()). Read it only then. -1 with err.
 */
int state_file_lock(const char *path, struct errmsg *err);

/* Keeps a copy of a file that is about to be changed, where so many of its lines could not be read,
 * and says so. 0, or -1 with err. */
int state_file_keep_damaged(const char *path, int bad, struct errmsg *err);
