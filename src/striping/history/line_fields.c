/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cuts lines into fields and reads these. */
#include "striping/history/line_fields.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int line_fields(char *text, char **field, int most)
{
	for (int i = 0; i < most; i++) {
		char *end = strchr(text, '\t');

		field[i] = text;
		if (!end)
			return i + 1;
		*end = '\0';
		text = end + 1;
	}
	return most + 1;
}

bool line_number(const char *text, double min, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= min && *out <= max;
}

bool line_id(const char *text, uint32_t *out)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	*out = (uint32_t)value;
	return isdigit((unsigned char)*text) && !*end && value <= UINT32_MAX;
}

bool line_time(const char *text, long long *out)
{
	char *end;

	*out = strtoll(text, &end, 10);
	return end != text && !*end;
}
