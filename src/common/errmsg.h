/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One clear error message, written by the function that found the fault, for its caller to show. */
#pragma once

#define ERRMSG_MAX 768 /* bytes of a message with its end */

/* Usually on the caller's stack. text is always terminated, and empty while nothing is wrong. */
struct errmsg {
	char text[ERRMSG_MAX];
};

/* Writes the message, cut at the buffer's end. The new message may quote the old one. Does nothing
 * where err is NULL. Always returns -1, for the caller to return. */
int errmsg_set(struct errmsg *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
