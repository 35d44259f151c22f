/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs another program and takes what it prints. */
#pragma once

#include <stddef.h>

#include "common/errmsg.h"

/*
 * Runs argv[0], found in PATH, without a shell and with an empty standard input. Returns what it
 * printed, terminated; the caller frees it. Returns NULL with err where the program cannot be run,
 * fails (err is then the first line of its standard error), prints more than max bytes, or needs
 * longer than wait_ms milliseconds; in the last two cases the program is killed.
 */
char *run_program(char *const argv[], size_t max, int wait_ms, struct errmsg *err);

/* The same, but returns the beginning of what it printed on standard error, for a program that says
 * there what it was asked for; what it printed on standard output is thrown away. */
char *run_program_said(char *const argv[], int wait_ms, struct errmsg *err);
