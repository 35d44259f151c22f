/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats error messages into the caller's buffer. */
#include "common/errmsg.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int errmsg_set(struct errmsg *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	strcpy(err->text, text);
	return -1;
}
