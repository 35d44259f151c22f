/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces what is unsafe to show in texts that users chose. */
#include "common/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The length of the UTF-8 sequence at p, 0 where there is none; *code is its character. */
static int sequence(const unsigned char *p, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	int len = p[0] < 0x80             ? 1
		  : (p[0] & 0xe0) == 0xc0 ? 2
		  : (p[0] & 0xf0) == 0xe0 ? 3
		  : (p[0] & 0xf8) == 0xf0 ? 4
					  : 0;

	*code = len == 1 ? p[0] : len ? p[0] & (0x7fU >> len) : 0;
	for (int i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3f);
	}
	/* Refused: longer than needed, half of a surrogate pair, or above the last character. */
	if (!len || *code < least[len] || (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff)
		return 0;
	return len;
}

static bool steers(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

char *plain_text(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		uint32_t code;
		int len = sequence((const unsigned char *)from, &code);

		if (len && !steers(code)) {
			memmove(to, from, (size_t)len);
			to += len;
		} else {
			*to++ = '?';
		}
		from += len ? len : 1;
	}
	*to = '\0';
	return text;
}
