/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Appends formatted text to a text of limited length. */
#include "common/text_append.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool text_append(char *buf, size_t size, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf + used, size - used, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < size - used)
		return true;
	buf[used] = '\0';
	return false;
}
