/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes durations, percentages and numbers. */
#include "common/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int64_t ns;
} time_unit[] = {
	{"h", 3600 * NS_PER_S},
	{"m", 60 * NS_PER_S},
	{"s", NS_PER_S},
	{"ms", NS_PER_MS},
	{"us", NS_PER_US},
	{"ns", 1},
};

#define TIME_UNITS (sizeof(time_unit) / sizeof(time_unit[0]))

static const struct {
	char name;
	int64_t bytes;
} size_unit[] = {
	{'G', INT64_C(1) << 30},
	{'M', INT64_C(1) << 20},
	{'K', INT64_C(1) << 10},
};

#define SIZE_UNITS (sizeof(size_unit) / sizeof(size_unit[0]))

/* Reads a plain decimal number, without the hex, inf and leading blanks that strtod() takes, too.
 * Returns its end, or NULL. */
static const char *decimal(const char *text, double *value)
{
	const char *p = text;
	char *end;

	if (*p == '-')
		p++;
	if (!isdigit((unsigned char)*p) || (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')))
		return NULL;
	errno = 0;
	*value = strtod(text, &end);
	if (errno || !isfinite(*value))
		return NULL;
	return end;
}

int units_parse_duration(const char *text, int64_t *ns, struct errmsg *err)
{
	double value;
	const char *end = decimal(text, &value);

	if (end && value == 0 && !*end) {
		*ns = 0;
		return 0;
	}
	for (size_t i = 0; end && value >= 0 && i < TIME_UNITS; i++) {
		double total = value * (double)time_unit[i].ns;

		if (strcmp(end, time_unit[i].name))
			continue;
		if (total >= 9.2e18)
			break;
		*ns = llround(total);
		return 0;
	}
	return errmsg_set(err,
		"\"%s\" is no duration: write a number and a unit, such as 200ms, 3200us or 1.5s",
		text);
}

char *units_format_duration(int64_t ns, char *buf, size_t size)
{
	for (size_t i = 0; i < TIME_UNITS; i++) {
		if (ns && ns % time_unit[i].ns == 0) {
			snprintf(buf, size, "%" PRId64 "%s", ns / time_unit[i].ns,
				time_unit[i].name);
			return buf;
		}
	}
	snprintf(buf, size, "0");
	return buf;
}

int units_parse_size(const char *text, int64_t *bytes, struct errmsg *err)
{
	double value;
	const char *end = decimal(text, &value);

	if (end && value == 0 && !*end) {
		*bytes = 0;
		return 0;
	}
	for (size_t i = 0; end && value >= 0 && i < SIZE_UNITS; i++) {
		double total = value * (double)size_unit[i].bytes;

		if (toupper((unsigned char)*end) != size_unit[i].name || end[1])
			continue;
		if (total >= 9.2e18)
			break;
		*bytes = llround(total);
		return 0;
	}
	return errmsg_set(
		err, "\"%s\" is no size: write a number and K, M or G, such as 32M", text);
}

char *units_format_size(int64_t bytes, char *buf, size_t size)
{
	for (size_t i = 0; i < SIZE_UNITS; i++) {
		if (bytes && bytes % size_unit[i].bytes == 0) {
			snprintf(buf, size, "%" PRId64 "%c", bytes / size_unit[i].bytes,
				size_unit[i].name);
			return buf;
		}
	}
	snprintf(buf, size, "%" PRId64, bytes);
	return buf;
}

int units_parse_percent(const char *text, double *fraction, struct errmsg *err)
{
	double value;
	const char *end = decimal(text, &value);

	if (!end || (*end && strcmp(end, "%")) || value < 0 || value > 100)
		return errmsg_set(err,
			"\"%s\" is no percentage: write a number from 0 to 100, such as 0.5%%",
			text);
	*fraction = value / 100;
	return 0;
}

int units_parse_int(const char *text, int64_t min, int64_t max, int64_t *value, struct errmsg *err)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || *end || errno || isspace((unsigned char)*text) || *text == '+' ||
		v < min || v > max)
		return errmsg_set(err, "\"%s\" is no whole number from %" PRId64 " to %" PRId64,
			text, min, max);
	*value = v;
	return 0;
}

int units_parse_double(const char *text, double min, double max, double *value, struct errmsg *err)
{
	double v;
	const char *end = decimal(text, &v);

	if (!end || *end || v < min || v > max)
		return errmsg_set(err, "\"%s\" is no number from %g to %g", text, min, max);
	*value = v;
	return 0;
}
