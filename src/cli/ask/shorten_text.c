/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shortens names that users chose to the columns that there are for them. */
#include "cli/ask/shorten_text.h"

#include <stdint.h>

/* Returns the bytes of the first character of text, and sets the columns that it takes on a
 * terminal: 2 for wide characters of East Asia. */
static int character(const char *text, int *columns)
{
	static const struct {
		uint32_t from, to;
	} wide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff},
		{0x20000, 0x3ffff}};
	uint32_t c = (unsigned char)*text;
	int bytes = 1;

	if (c >= 0xc0)
		c &= c >= 0xf0 ? 0x07 : c >= 0xe0 ? 0x0f : 0x1f;
	for (; ((unsigned char)text[bytes] & 0xc0) == 0x80; bytes++)
		c = c << 6 | ((unsigned char)text[bytes] & 0x3f);
	*columns = 1;
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (c >= wide[i].from && c <= wide[i].to)
			*columns = 2;
	return bytes;
}

static int columns_of(const char *text)
{
	int all = 0, columns;

	for (; *text; all += columns)
		text += character(text, &columns);
	return all;
}

int shorten_text(FILE *out, const char *text, int columns, const char *mark,
	void (*put)(FILE *, const char *))
{
	int left = columns_of(text), used = 0, bytes, here;
	char head[256];

	if (left <= columns) {
		put(out, text);
		return left;
	}
	for (; (bytes = character(text, &here)) && used + here <= columns * 3 / 5; text += bytes) {
		snprintf(head, sizeof(head), "%.*s", bytes, text);
		put(out, head);
		used += here;
		left -= here;
	}
	fputs(mark, out);
	for (; left > columns - 1 - used; left -= here)
		text += character(text, &here);
	put(out, text);
	return used + 1 + left;
}

static void put_plain(FILE *out, const char *text)
{
	fputs(text, out);
}

void shorten_name(FILE *out, const char *text, int columns)
{
	int used = shorten_text(out, text, columns, "~", put_plain);

	fprintf(out, "%*s", columns - used, "");
}
