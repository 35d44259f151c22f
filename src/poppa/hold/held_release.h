/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resumes what the list says is held stopped. */
#pragma once

#include "poppa/hold/held.h"
#include "poppa/hold/held_handles.h"

/*
 * Resumes everything that is not HELD_FREE, and frees its entry. sure: poppad is dead, so no stop
 * can come any more. Otherwise an entry that is HELD_STOPPING stays so unless the stop call is
 * known to have been made (held.h), and is not resumed again before the stopping thread has run.
 * One that is HELD_RESUMING is only freed where SIGCONT is known to have been sent. A stop signal
 * that somebody else sent to a held process meanwhile is sent to it again. `ready` (may be NULL)
 * has open files for the entries; other files are opened. Returns how many entries were not free.
 * *again (may be NULL) is how many still are not, some because they could not be resumed: call
 * again for them. One thread at a time.
 */
int held_release(struct held_file *h, struct held_handles *ready, bool sure, int *again);

/* Resumes what an earlier run left stopped, from its file. Returns the number of things resumed (0:
 * nothing was left, or there is no file), or -1 with err. */
int held_repair(const char *path, struct errmsg *err);
