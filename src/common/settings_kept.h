/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the settings that were last good, for a daemon that starts with bad ones. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"
#include "common/settings.h"

/* Writes a text that settings_parse() has taken into a file of directory dir. Returns 0, or -1 with
 * err. */
int settings_keep(const char *dir, const char *prep_parameters, struct errmsg *err);

/* Reads what was kept in dir. Returns 0, or -1 with *s untouched where there is no file, or none
 * that this release can read. */
int settings_kept(const char *dir, struct poppa_settings *s);

/*
 * Follows PrEpParameters. A bad text leaves *s as it is, or, the first time, puts there what was
 * kept in dir, or the defaults. Returns 0, or -1 with err, which also says what is in force.
 */
int settings_follow(const char *prep_parameters, const char *dir, bool first,
	struct poppa_settings *s, struct errmsg *err);
