/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Breaks paragraphs into lines. */
#include "cli/ask/wrap_text.h"

#include <string.h>

void wrap_text(FILE *out, const char *text, size_t width)
{
	size_t used = 0;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (used && used + 1 + len > width) {
			fputc('\n', out);
			used = 0;
		}
		used += (size_t)fprintf(out, "%s%.*s", used ? " " : "", (int)len, text);
		text += len + (text[len] == ' ');
	}
	fputc('\n', out);
}
