/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the pair history inside slurmctld, in its own thread, so that nothing waits long for a
 * disk. */
#pragma once

#include "common/settings.h"
#include "striping/partners/outlook.h"
#include "striping/history/pairs.h"

/*
 * Starts the thread that follows StateSaveLocation/poppa_pairs, poppa_trials, which it adds to the
 * history, and poppa_profiles, and waits until it has read the first, but two seconds at most: then
 * the log has a line, and partners are chosen without it until it is read. Further calls do
 * nothing, so it is slurmctld's start that waits, and no decision.
 */
void history_start(void);

/* The settings have been read: which cache jobs share, for what the profiles in
 * StateSaveLocation/poppa_profiles tell. The thread finds out anew what follows, where it is
 * another one. */
void history_settings(const struct poppa_settings *settings);

/* Stops the thread and forgets the history. */
void history_stop(void);

/* The latest history, or NULL, and what it says of the lanes (outlook may be NULL; *outlook is NULL
 * while there is none). Takes the history's lock until history_put(): wait for nothing in between.
 */
const struct pairs *history_get(const struct outlook **outlook);
/* What was drawn with that outlook (outlook_drawn()), or NULL. Only until history_put(). */
const struct outlook *history_drawn(void);
void history_put(void);
