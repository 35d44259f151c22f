/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the names of classes. */
#include "striping/partners/class_name.h"

#include <ctype.h>
#include <stdio.h>

#include "common/printable.h"

char *class_plain(char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '_';
	return plain_text(text);
}

char *class_copy(const char *text, char *buf, size_t size)
{
	snprintf(buf, size, "%s", text ? text : "");
	return class_plain(buf);
}

bool class_generalize(char *name)
{
	char *to = name;
	bool any = false, before = false;

	for (const char *from = name; *from; from++) {
		bool digit = isdigit((unsigned char)*from);

		any |= digit;
		if (!digit || !before)
			*to++ = digit ? '#' : *from;
		before = digit;
	}
	*to = '\0';
	return any;
}

char *class_by_names(
	const char *class_name, bool shared, unsigned int uid, const char *job_name, char *buf)
{
	bool named = class_name && *class_name;

	if (named && shared)
		snprintf(buf, PAIRS_CLASS_MAX, "%s", class_name);
	else
		snprintf(buf, PAIRS_CLASS_MAX, "%u%c%s", uid, named ? ':' : '/',
			named      ? class_name
			: job_name ? job_name
				   : "");
	return class_plain(buf);
}
