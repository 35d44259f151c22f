/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs another program and takes what it prints. */
#ifndef POPPA_CLI_ASK_RUN_PROGRAM_H
#define POPPA_CLI_ASK_RUN_PROGRAM_H

#include <stddef.h>

#include "common/errmsg.h"

/*
 * What argv[0], found in PATH and run without a shell, writes to its standard output, terminated;
 * the caller's to free. NULL with err where it cannot be run, fails (err then has the first line of
 * its standard error), prints more than max bytes, or is not done after wait_ms; it is ended then.
 */
char *run_program(char *const argv[], size_t max, int wait_ms, struct errmsg *err);

#endif
