/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of the runs that wait for their settlement; it is read after a crash. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include "common/errmsg.h"

/* In StateSaveLocation. A run is in one of them a second or so after its end, until it is settled
 * and all of Slurm shows that; it goes from the second into the first, and is in both for a moment.
 */
#define WAITING_FILE "poppa_unsettled"
#define WAITING_ARRIVED_FILE "poppa_arrived"

/*
 * The file's first line is a list of runs. Each later line is a change: a run that is new or has
 * changed, or one that no longer waits. So a change costs the same however many runs wait. A run is
 * a JSON object; its "job" and "start" tell it from all others.
 */
struct waiting {
	size_t list, changes; /* bytes of the two parts, valid while ours is set */
	bool ours;            /* the file is as this process wrote it last */
};

/*
 * Reads the runs that wait: a new reference, or NULL with err, and errno ENOENT where the file does
 * not exist. A last line without an end is ignored (common/journal.h). *damaged: out, how many
 * entries cannot be read and are left out.
 */
json_t *waiting_read(const char *path, int *damaged, struct errmsg *err);

/* The change that says that the run no longer waits. A new reference or NULL. */
json_t *waiting_gone(uint32_t job_id, int64_t start_unix);

/* Whether waiting_write() is due: the changes have grown long, or the file is not ours. */
bool waiting_is_due(const struct waiting *w);

/* Writes all that waits in one step; takes over the reference, which may be NULL (out of memory).
 * 0, or -1 with err. */
int waiting_write(struct waiting *w, const char *path, json_t *runs, struct errmsg *err);

/* Appends a list of changes; takes over the reference, which may be NULL. 0, or -1 with err, also
 * where somebody else has replaced the file; after that waiting_is_due(). */
int waiting_append(struct waiting *w, const char *path, json_t *changes, struct errmsg *err);
