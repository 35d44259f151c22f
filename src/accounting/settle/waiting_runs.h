/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of the runs that wait for their settlement, for whoever comes after a crash. */
#ifndef POPPA_ACCOUNTING_SETTLE_WAITING_RUNS_H
#define POPPA_ACCOUNTING_SETTLE_WAITING_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include "common/errmsg.h"

/*
 * A list of runs, and after it a line for each change: a run that is new or has changed, or one
 * that waits no longer. What a change costs does not depend on how many wait. A run is an object
 * with "job" and "start", which tell it from all others.
 */
struct waiting {
	size_t list, changes; /* bytes; those of a file that was not written here are not known */
	bool ours;            /* the file is as it was left here */
};

/*
 * What waits: a new reference, or NULL with err, and errno ENOENT where there is no such file. A
 * change that was cut when its writer was killed had not been promised to anybody. *damaged: how
 * many entries are left out since they cannot be read.
 */
json_t *waiting_read(const char *path, int *damaged, struct errmsg *err);

/* A change: the run waits no longer. A new reference or NULL. */
json_t *waiting_gone(uint32_t job_id, int64_t start_unix);

/* Whether the changes have grown so long that the list is to be written anew. */
bool waiting_is_due(const struct waiting *w);

/* Writes all that waits in one step; takes over the reference, which may be NULL (out of memory).
 * 0, or -1 with err. */
int waiting_write(struct waiting *w, const char *path, json_t *runs, struct errmsg *err);

/*
 * Writes a list of changes behind those that there are; takes over the reference likewise. 0, or -1
 * with err; then, and where the file is another one by now, waiting_is_due().
 */
int waiting_append(struct waiting *w, const char *path, json_t *changes, struct errmsg *err);

#endif
