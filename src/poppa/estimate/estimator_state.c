/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the numbers of an estimator's state into JSON, and back. */
#include "poppa/estimate/estimator_state.h"

void state_save(const struct state_field *field, int count, const void *from, json_t *json)
{
	for (int i = 0; i < count; i++) {
		const void *at = (const char *)from + field[i].offset;
		const double *reals = at;
		const uint64_t *wholes = at;
		json_t *array = json_array();

		for (int n = 0; array && n < field[i].count; n++)
			json_array_append_new(array, field[i].real
							     ? json_real(reals[n])
							     : json_integer((json_int_t)wholes[n]));
		json_object_set_new(json, field[i].name, array);
	}
}

int state_load(const struct state_field *field, int count, const json_t *json, void *to)
{
	for (int i = 0; i < count; i++) {
		const json_t *array = json_object_get(json, field[i].name), *item;
		void *at = (char *)to + field[i].offset;
		double *reals = at;
		uint64_t *wholes = at;
		size_t n;

		if (!json_is_array(array) || json_array_size(array) != (size_t)field[i].count)
			return -1;
		json_array_foreach(array, n, item)
		{
			if (field[i].real ? !json_is_number(item)
					  : !json_is_integer(item) || json_integer_value(item) < 0)
				return -1;
			if (field[i].real)
				reals[n] = json_number_value(item);
			else
				wholes[n] = (uint64_t)json_integer_value(item);
		}
	}
	return 0;
}
