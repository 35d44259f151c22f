/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which tasks are done, in a file that outlives poppa-farm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "common/journal.h"

/* The done tasks of earlier runs, and a line for each one that is done now. */
struct farm_journal {
	const char *path; /* NULL: there is none, and all calls do nothing */
	struct journal file;
	int lock;
	struct farm_done *done; /* by number of the line */
	uint64_t count, room;
};

/*
 * Opens or makes the journal and reads what is done; another poppa-farm that uses it is an error.
 * Returns 0, or -1 with err: also where the file is no journal.
 */
int farm_journal_open(struct farm_journal *j, const char *path, struct errmsg *err);
void farm_journal_close(struct farm_journal *j);
/* Whether an earlier run has done that line. A line whose text has changed is another task. */
bool farm_journal_has(const struct farm_journal *j, uint64_t number, uint64_t check);
/* A crash of poppa-farm does not lose it any more. Returns 0, or -1 with err. */
int farm_journal_add(struct farm_journal *j, uint64_t number, uint64_t check, struct errmsg *err);
/* A crash of the machine neither. */
int farm_journal_sync(struct farm_journal *j, struct errmsg *err);
