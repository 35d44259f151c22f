/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the files that poppa profile writes, and says how to get one where it is none. */
#include "cli/profile/read_histogram.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/ask/cli.h"
#include "common/fsio.h"

#define FIX "write one with: poppa profile --output FILE -- PROGRAM"

int read_histogram(const char *path, struct reuse_histogram *h, struct errmsg *err)
{
	struct errmsg why;
	char *text;
	int rc;

	if (cli_regular(path, err))
		return -1;
	text = fsio_read(path, REUSE_TEXT_MAX, NULL, &why);
	if (!text && errno == EFBIG)
		return errmsg_set(err, "%s is no histogram, which has %d bytes at most: " FIX, path,
			REUSE_TEXT_MAX);
	if (!text)
		return errmsg_set(err, "%s", why.text);
	rc = reuse_parse(path, text, h, &why);
	free(text);
	return rc ? errmsg_set(err, "%s. If this is no histogram, " FIX, why.text) : 0;
}
