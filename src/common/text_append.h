/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Appends formatted text to a text of limited length. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Appends to the text in buf, which has room for size bytes. Where all of it does not fit, appends
 * nothing and returns false. */
bool text_append(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
