/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa trial: executes poppa-trial, so that the command itself needs no library for counters. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "common/fsio.h"

int cmd_trial(int argc, char **argv)
{
	char path[PATH_MAX];

	(void)argc;
	execv(fsio_helper("poppa-trial", path, sizeof(path)), argv);
	return cli_error("cannot run %s: %s; is the suite installed whole?", path, strerror(errno));
}
