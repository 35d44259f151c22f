/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a host and a port. */
#include "common/hostport.h"

#include <stdio.h>
#include <string.h>

#include "common/units.h"

int hostport_parse(const char *text, char *host, size_t size, int *port, struct errmsg *err)
{
	const char *colon = strrchr(text, ':'), *bracket = strchr(text, ']');
	const char *whole = text;
	size_t len;
	int64_t number;

	/* More than one colon and no brackets: an IPv6 address without a port. */
	if (colon && (colon < bracket || (!bracket && strchr(text, ':') != colon)))
		colon = NULL;
	len = colon ? (size_t)(colon - text) : strlen(text);
	if (colon && units_parse_int(colon + 1, 1, 65535, &number, err))
		return -1;
	if (*text == '[' && bracket && bracket + 1 == text + len) {
		text++;
		len -= 2;
	}
	/* No bracket may be left, and nothing that a name or an address cannot have. */
	if (!len || len >= size || strcspn(text, "[]/ \t\r\n\v\f\"\\") < len)
		return errmsg_set(err, "\"%s\": write HOST, HOST:PORT or [ADDRESS]:PORT", whole);
	snprintf(host, size, "%.*s", (int)len, text);
	if (colon)
		*port = (int)number;
	return 0;
}
