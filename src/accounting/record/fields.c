/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the JSON of a structure from the table of its fields, and reads it back. */
#include "accounting/record/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool *flag_of(const struct field *f, const void *object)
{
	return f->flag ? (bool *)((char *)object + f->flag) : NULL;
}

static char *item_at(const struct field *f, const void *object, size_t item)
{
	return (char *)object + f->offset + item * (f->step ? f->step : f->size);
}

static size_t items_of(const struct field *f, const void *object)
{
	return f->count ? (size_t) * (const int *)((const char *)object + f->count) : f->room;
}

int64_t field_value(const struct field *f, const void *object, size_t item)
{
	const char *at = item_at(f, object, item);

	if (f->type == FIELD_BOOL)
		return *(const bool *)at;
	if (f->size == sizeof(int64_t))
		return *(const int64_t *)at;
	return f->min < 0 ? (int64_t) * (const int32_t *)at : (int64_t) * (const uint32_t *)at;
}

static json_t *item_to_json(const struct field *f, const void *object, size_t item)
{
	switch (f->type) {
	case FIELD_TEXT:
		return json_string(item_at(f, object, item));
	case FIELD_REAL:
		return field_real_or_null(*(const double *)item_at(f, object, item));
	case FIELD_BOOL:
		return json_boolean(field_value(f, object, item));
	case FIELD_WORD:
		return json_string(f->words[field_value(f, object, item)]);
	default:
		return json_integer(field_value(f, object, item));
	}
}

static json_t *list_to_json(const struct field *f, const void *object)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < items_of(f, object); i++)
		json_array_append_new(list, item_to_json(f, object, i));
	return list;
}

/* Whether the field is one that JSON leaves out. */
static bool is_left_out(const struct field *f, const void *object)
{
	const bool *flag = flag_of(f, object);

	if (flag)
		return !*flag;
	if (!f->name)
		return true;
	if (!f->optional || f->room || f->type == FIELD_REAL)
		return false;
	return f->type == FIELD_TEXT ? !*item_at(f, object, 0) : !field_value(f, object, 0);
}

json_t *field_to_json(const struct field *f, const void *object)
{
	return f->room ? list_to_json(f, object) : item_to_json(f, object, 0);
}

json_t *fields_to_json(const struct field_table *t, const void *object)
{
	json_t *json = json_object();

	for (const struct field *f = t->field; json && f < t->field + t->count; f++) {
		if (is_left_out(f, object))
			continue;
		if (json_object_set_new(json, f->name, field_to_json(f, object))) {
			json_decref(json);
			return NULL;
		}
	}
	return json;
}

void field_set_value(const struct field *f, void *object, size_t item, int64_t value)
{
	char *at = item_at(f, object, item);

	if (f->type == FIELD_BOOL)
		*(bool *)at = value;
	else if (f->size == sizeof(int64_t))
		*(int64_t *)at = value;
	else
		*(uint32_t *)at = (uint32_t)value;
}

/* The number of the word; 0 for an unknown one. */
static size_t word_number(const struct field *f, const char *word)
{
	for (size_t i = 1; word && i < f->word_count; i++)
		if (!strcmp(word, f->words[i]))
			return i;
	return 0;
}

static int scalar_from_json(const struct field_table *t, const struct field *f, const json_t *json,
	void *object, struct errmsg *err)
{
	const json_t *v = json_object_get(json, f->name);
	double real;
	int64_t value = 0;

	if (f->optional && !v)
		return 0;
	switch (f->type) {
	case FIELD_TEXT:
		return field_text(t->what, json, f->name, item_at(f, object, 0), f->size, err);
	case FIELD_REAL:
		if (field_real(t->what, json, f->name, &real, err))
			return -1;
		if (f->max && fabs(real) > (double)f->max)
			return errmsg_set(err, "%s: \"%s\" is out of range", t->what, f->name);
		*(double *)item_at(f, object, 0) = real;
		return 0;
	case FIELD_BOOL:
		if (!f->optional && !json_is_boolean(v))
			return errmsg_set(
				err, "%s: \"%s\" must be true or false", t->what, f->name);
		value = json_is_true(v);
		break;
	case FIELD_WORD:
		value = (int64_t)word_number(f, json_string_value(v));
		break;
	case FIELD_INT:
		if (field_int(t->what, json, f->name, f->min, f->max, &value, err))
			return -1;
	}
	field_set_value(f, object, 0, value);
	return 0;
}

/* Reads one item of a list; false where it has a wrong type or is out of range. */
static bool take_item(const struct field *f, const json_t *v, void *object, size_t item)
{
	if (f->type == FIELD_REAL) {
		double real = json_is_null(v) ? NAN : json_number_value(v);

		if (!(json_is_number(v) || json_is_null(v)) ||
			(f->max && fabs(real) > (double)f->max))
			return false;
		*(double *)item_at(f, object, item) = real;
		return true;
	}
	if (!json_is_integer(v) || json_integer_value(v) < f->min || json_integer_value(v) > f->max)
		return false;
	field_set_value(f, object, item, json_integer_value(v));
	return true;
}

static int list_from_json(const struct field_table *t, const struct field *f, const json_t *json,
	void *object, struct errmsg *err)
{
	const json_t *list = json_object_get(json, f->name), *v;
	bool *flag = flag_of(f, object);
	bool any_number = f->count && !flag;
	size_t most = any_number ? f->room : items_of(f, object), n = json_array_size(list), i;

	if (flag && !list)
		return 0;
	if (!json_is_array(list) || n > most || (!any_number && n < most))
		return errmsg_set(err, "%s: \"%s\" must be an array of %s%zu %s", t->what, f->name,
			any_number ? "at most " : "", most, f->items);
	json_array_foreach(list, i, v)
	{
		if (!take_item(f, v, object, i))
			return errmsg_set(
				err, "%s: \"%s\" must hold %s", t->what, f->name, f->items);
	}
	if (flag)
		*flag = true;
	else if (f->count)
		*(int *)((char *)object + f->count) = (int)n;
	return 0;
}

int fields_from_json(
	const struct field_table *t, const json_t *json, void *object, struct errmsg *err)
{
	if (!json_is_object(json))
		return errmsg_set(err, "%s: not a JSON object", t->what);
	for (const struct field *f = t->field; f < t->field + t->count; f++)
		if (f->name && (f->room ? list_from_json(t, f, json, object, err)
					: scalar_from_json(t, f, json, object, err)))
			return -1;
	return 0;
}

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
