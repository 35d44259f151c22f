/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and locks files in slurmctld's StateSaveLocation. */
#include "cli/ask/state_file.h"

#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "cli/ask/scontrol.h"
#include "common/journal.h"

#define WHO "only slurmctld's host has it, and only root and SlurmUser may change it"

int state_file_find(
	const char *option, const char *path, const char *name, char *buf, struct errmsg *err)
{
	if (!path)
		return scontrol_state_file(name, buf, PATH_MAX, err);
	if (snprintf(buf, PATH_MAX, "%s", path) >= PATH_MAX)
		return errmsg_set(err, "%s: the name is too long", option);
	return 0;
}

/* Root's other groups could write elsewhere what the owner cannot, so they give way to the owner's:
 * the ones that slurmctld has when it runs as that user. */
static int take_groups(const struct stat *owner)
{
	const struct passwd *user = getpwuid(owner->st_uid);

	return user ? initgroups(user->pw_name, owner->st_gid) : setgroups(1, &owner->st_gid);
}

/*
 * slurmctld must be able to read what root writes, and whoever owns the folder must not lead root
 * to another one. So root becomes the owner of the folder.
 */
static int become_owner(const char *path, struct errmsg *err)
{
	char copy[PATH_MAX];
	const char *dir = dirname(strcpy(copy, path));
	struct stat st;

	if (stat(dir, &st))
		return errmsg_set(err, "%s: %s: " WHO, dir, strerror(errno));
	if (geteuid() || (!st.st_uid && !st.st_gid))
		return 0;
	if (take_groups(&st) || setegid(st.st_gid) || seteuid(st.st_uid))
		return errmsg_set(err, "cannot become the owner of %s: %s", dir, strerror(errno));
	return 0;
}

int state_file_lock(const char *path, struct errmsg *err)
{
	int fd;

	if (cli_regular(path, err) || become_owner(path, err))
		return -1;
	fd = journal_lock(path, err);
	return fd >= 0 ? fd : errmsg_set(err, "%s: " WHO, err->text);
}

int state_file_keep_damaged(const char *path, int bad, struct errmsg *err)
{
	if (!bad)
		return 0;
	fprintf(stderr, "poppa: %s: %d lines could not be read; %s.damaged has them from now on\n",
		path, bad, path);
	return journal_keep_damaged(path, err);
}
