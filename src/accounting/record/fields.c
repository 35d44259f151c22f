/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks and converts fields of JSON objects. */
#include "accounting/record/fields.h"

#include <math.h>
#include <string.h>

int field_text(const char *what, const json_t *json, const char *field, char *out, size_t size,
	struct errmsg *err)
{
	const char *text = json_string_value(json_object_get(json, field));

	if (!text || strlen(text) >= size)
		return errmsg_set(err, "%s: \"%s\" must be a string of at most %zu characters",
			what, field, size - 1);
	strcpy(out, text);
	return 0;
}

int field_int(const char *what, const json_t *json, const char *field, int64_t min, int64_t max,
	int64_t *out, struct errmsg *err)
{
	const json_t *v = json_object_get(json, field);

	if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
		return errmsg_set(err, "%s: \"%s\" must be a whole number in range", what, field);
	*out = json_integer_value(v);
	return 0;
}

int field_real(
	const char *what, const json_t *json, const char *field, double *out, struct errmsg *err)
{
	const json_t *v = json_object_get(json, field);

	if (!json_is_number(v) && !json_is_null(v))
		return errmsg_set(err, "%s: \"%s\" must be a number or null", what, field);
	*out = json_is_number(v) ? json_number_value(v) : NAN;
	return 0;
}

json_t *field_real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}
