/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One clear error message, written by the function that found the fault, for its caller to show. */
#pragma once

/* Lives on the caller's stack; text is always terminated and empty while nothing is wrong. */
struct errmsg {
	char text[512];
};

/* Writes the message (cut at the buffer's end) and returns -1, so a function can return it. What
 * err says already may be quoted in it. */
int errmsg_set(struct errmsg *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
