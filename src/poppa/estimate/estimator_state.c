/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the numbers of an estimator's state into JSON, and back. */
#include "poppa/estimate/estimator_state.h"

json_t *state_save_doubles(const double *v, int count)
{
	json_t *array = json_array();

	for (int i = 0; array && i < count; i++)
		json_array_append_new(array, json_real(v[i]));
	return array;
}

json_t *state_save_counts(const uint64_t *v, int count)
{
	json_t *array = json_array();

	for (int i = 0; array && i < count; i++)
		json_array_append_new(array, json_integer((json_int_t)v[i]));
	return array;
}

static const json_t *array_of(const json_t *json, const char *key, int count)
{
	const json_t *array = json_object_get(json, key);

	return json_is_array(array) && json_array_size(array) == (size_t)count ? array : NULL;
}

int state_load_doubles(const json_t *json, const char *key, double *v, int count)
{
	const json_t *array = array_of(json, key, count), *item;
	size_t i;

	if (!array)
		return -1;
	json_array_foreach(array, i, item)
	{
		if (!json_is_number(item))
			return -1;
		v[i] = json_number_value(item);
	}
	return 0;
}

int state_load_counts(const json_t *json, const char *key, uint64_t *v, int count)
{
	const json_t *array = array_of(json, key, count), *item;
	size_t i;

	if (!array)
		return -1;
	json_array_foreach(array, i, item)
	{
		if (!json_is_integer(item) || json_integer_value(item) < 0)
			return -1;
		v[i] = (uint64_t)json_integer_value(item);
	}
	return 0;
}

void state_save(const struct state_field *field, int count, const void *from, json_t *json)
{
	for (int i = 0; i < count; i++) {
		const void *at = (const char *)from + field[i].offset;

		json_object_set_new(json, field[i].name,
			field[i].real ? state_save_doubles(at, field[i].count)
				      : state_save_counts(at, field[i].count));
	}
}

int state_load(const struct state_field *field, int count, const json_t *json, void *to)
{
	for (int i = 0; i < count; i++) {
		void *at = (char *)to + field[i].offset;

		if (field[i].real ? state_load_doubles(json, field[i].name, at, field[i].count)
				  : state_load_counts(json, field[i].name, at, field[i].count))
			return -1;
	}
	return 0;
}
