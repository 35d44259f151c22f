/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores the last good settings in a file, for a daemon that starts while they are bad. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"
#include "common/settings.h"

/* Stores in dir a text that settings_parse() has taken. Returns 0, or -1 with err. */
int settings_keep(const char *dir, const char *prep_parameters, struct errmsg *err);

/* Reads the settings kept in dir. Returns 0, or -1 with *s untouched where there are none that this
 * release can read. */
int settings_kept(const char *dir, struct poppa_settings *s);

/*
 * Reads PrEpParameters, at the start (first) or when they change. After a bad text, *s stays as it
 * is; at the start it becomes the settings kept in dir or, without these, the defaults. Returns 0,
 * or -1 with err that also says which settings are in force.
 */
int settings_follow(const char *prep_parameters, const char *dir, bool first,
	struct poppa_settings *s, struct errmsg *err);
