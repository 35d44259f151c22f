/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and replaces one writer's part of a shared comment. */
#include "common/tags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR "; "

/* The start of the part "TAG: ..." and its length, or NULL. */
static const char *find_part(const char *comment, const char *tag, size_t *len)
{
	size_t tag_len = strlen(tag);

	for (const char *p = comment; p && *p;) {
		const char *end = strstr(p, SEPARATOR);

		if (!strncmp(p, tag, tag_len) && !strncmp(p + tag_len, ": ", 2)) {
			*len = end ? (size_t)(end - p) : strlen(p);
			return p;
		}
		p = end ? end + strlen(SEPARATOR) : NULL;
	}
	return NULL;
}

char *tags_get(const char *comment, const char *tag)
{
	size_t len;
	const char *part = find_part(comment, tag, &len);

	if (!part)
		return NULL;
	part += strlen(tag) + 2;
	return strndup(part, len - strlen(tag) - 2);
}

char *tags_set(const char *comment, const char *tag, const char *text)
{
	const char *old, *before_end, *after;
	size_t old_len = 0, size;
	char *out;

	if (!comment)
		comment = "";
	old = find_part(comment, tag, &old_len);
	before_end = old ? old : comment + strlen(comment);
	after = old ? old + old_len : before_end;
	/* A removed part takes one separator with it. */
	if (old && !text) {
		if (*after)
			after += strlen(SEPARATOR);
		else if (before_end > comment)
			before_end -= strlen(SEPARATOR);
	}
	size = strlen(comment) + strlen(tag) + (text ? strlen(text) : 0) + 8;
	out = malloc(size);
	if (!out) {
		errno = ENOMEM;
		return NULL;
	}
	if (text)
		snprintf(out, size, "%.*s%s%s: %s%s", (int)(before_end - comment), comment,
			!old && *comment ? SEPARATOR : "", tag, text, after);
	else
		snprintf(out, size, "%.*s%s", (int)(before_end - comment), comment, after);
	return out;
}
