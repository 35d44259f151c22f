/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores and reads the last good settings. */
#include "common/settings_kept.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fsio.h"
#include "common/journal.h"

#define FILE_NAME "poppa_settings"
#define MAX_BYTES (1 << 20)

int settings_keep(const char *dir, const char *prep_parameters, struct errmsg *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
	return journal_replace(path, prep_parameters, strlen(prep_parameters), err);
}

int settings_kept(const char *dir, struct poppa_settings *s)
{
	struct errmsg err = {""};
	char path[PATH_MAX], *text;
	int rc;

	snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
	text = fsio_read(path, MAX_BYTES, NULL, &err);
	if (!text)
		return -1;
	rc = settings_parse(text, s, &err);
	free(text);
	return rc;
}

int settings_follow(const char *prep_parameters, const char *dir, bool first,
	struct poppa_settings *s, struct errmsg *err)
{
	const char *stays = "the settings of before stay in force";

	if (!settings_parse(prep_parameters, s, err))
		return 0;
	if (first && !settings_kept(dir, s)) {
		stays = "the last good settings are in force";
	} else if (first) {
		settings_defaults(s);
		stays = "the defaults are in force";
	}
	return errmsg_set(err, "%s; %s", err->text, stays);
}
