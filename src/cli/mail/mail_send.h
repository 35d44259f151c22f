/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands a mail on to the site's own mail program. */
#pragma once

#include <signal.h>
#include <stddef.h>

/*
 * Reads what is on standard input, the body that the caller has written, for at most so many
 * seconds and until *stop is set. Returns it terminated, for the caller to free; NULL without
 * memory.
 */
char *mail_read_body(int seconds, const volatile sig_atomic_t *stop);

/*
 * Runs the program with argv as it is, and body on standard input, with the paragraph behind it.
 * Returns its exit status; 127 where it could not be run, 128 and the signal where that ended it.
 */
int mail_send(const char *program, char **argv, const char *body, const char *paragraph);
