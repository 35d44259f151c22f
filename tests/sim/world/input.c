/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at what kind of file it is, and at its first bytes. */
#include "sim/world/input.h"

#include <string.h>
#include <sys/stat.h>

int input_check_path(const char *path, struct errmsg *err)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return errmsg_set(err, "%s is a directory: name a file in it", path);
	return 0;
}

int input_check_mark(const char *path, const char *line, struct errmsg *err)
{
	if (!strncmp(line, "\xef\xbb\xbf", 3))
		return errmsg_set(err,
			"%s:1: a byte order mark is before the text: remove it (sed -i "
			"'1s/^\\xEF\\xBB\\xBF//')",
			path);
	if (!strncmp(line, "\xff\xfe", 2) || !strncmp(line, "\xfe\xff", 2))
		return errmsg_set(err,
			"%s:1: the text is in UTF-16: convert it (iconv -f UTF-16 -t UTF-8)", path);
	return 0;
}
