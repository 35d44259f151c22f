/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether this slurmctld is the one that counts, and how a shutdown is kept waiting. */
#ifndef POPPA_PLUGINS_PREP_SERVING_H
#define POPPA_PLUGINS_PREP_SERVING_H

#include <stdbool.h>

/*
 * Whether this slurmctld is in charge, with its state read, and not about to end. While it starts
 * it has a list of jobs before it has their hash table, and to look a job up then ends it; it saves
 * its state only after that.
 */
bool serving(void);

/*
 * Between these two a shutdown waits, and then it saves its state and closes the connection to
 * slurmdbd: it saves nothing while anybody holds its locks. False, and nothing to end: it does not
 * serve any more.
 */
bool serving_begin(void);
void serving_end(void);

#endif
