/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resumes what the list says is held stopped. */
#ifndef POPPA_HOLD_HELD_RELEASE_H
#define POPPA_HOLD_HELD_RELEASE_H

#include "poppa/hold/held.h"
#include "poppa/hold/held_handles.h"

/*
 * Resumes everything that is armed and disarms it; with sure unset, as long as the stopping thread
 * lives, HELD_STOPPING stays unless its stop is known to be made, and is not resumed again before
 * that thread has run. A stop signal that somebody else sent to a held process is given back.
 * `ready`, where given, is borrowed from; what is not there is opened. Returns how many slots were
 * armed; *again, where given, counts those that are to be looked at again: what stayed armed, be it
 * that it could not be resumed. One thread at a time.
 */
int held_release(struct held_file *h, struct held_handles *ready, bool sure, int *again);

/*
 * Resumes what an earlier run left stopped, from its file. Returns the number of things resumed (0:
 * nothing was left, or there is no file), or -1 with err.
 */
int held_repair(const char *path, struct errmsg *err);

#endif
