/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the pair history inside slurmctld, in its own thread, so that no lock waits for a disk. */
#pragma once

#include "striping/partners/pairs.h"

/* Starts the thread that follows StateSaveLocation/poppa_pairs; further calls do nothing. */
void history_start(void);

/* Stops the thread and forgets the history. */
void history_stop(void);

/* The latest history, or NULL. Takes the history's lock until history_put(): wait for nothing in
 * between. */
const struct pairs *history_get(void);
void history_put(void);
