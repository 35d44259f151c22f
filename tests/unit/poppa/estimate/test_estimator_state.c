/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/estimator_state.c: a state outlives its process bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "poppa/estimate/estimator_state.h"

struct pair {
	double x, y;
};

struct sample {
	uint64_t count, many[2];
	double one;
	struct pair pair[2];
};

static const struct state_field fields[] = {STATE_WHOLE(struct sample, count),
	STATE_WHOLE(struct sample, many), STATE_REAL(struct sample, one),
	STATE_REAL(struct sample, pair)};

static json_t *saved(const struct sample *s)
{
	json_t *json = json_object(), *back;
	char *text;

	state_save(fields, STATE_COUNT(fields), s, json);
	text = json_dumps(json, JSON_COMPACT);
	assert_non_null(text);
	back = json_loads(text, 0, NULL);
	free(text);
	json_decref(json);
	return back;
}

static const struct sample full = {
	7, {INT64_MAX, 0}, 0.1, {{1.0 / 3, -DBL_MAX}, {DBL_MIN / 8, -0.0}}};

static void there_and_back(void **state)
{
	json_t *json = saved(&full);
	struct sample s;

	(void)state;
	memset(&s, 0xff, sizeof(s));
	assert_int_equal(state_load(fields, STATE_COUNT(fields), json, &s), 0);
	assert_memory_equal(&s, &full, sizeof(s));
	/* Four arrays of as many numbers as there are. */
	assert_int_equal(json_object_size(json), 4);
	assert_int_equal(json_array_size(json_object_get(json, "count")), 1);
	assert_int_equal(json_array_size(json_object_get(json, "pair")), 4);
	json_decref(json);
}

static void what_is_no_state(void **state)
{
	static const char *const bad[][2] = {{"count", "[-1]"}, {"count", "[1.0]"}, {"count", "[]"},
		{"count", "7"}, {"many", "[1]"}, {"many", "[1,2,3]"}, {"many", "[1,null]"},
		{"one", "[\"1\"]"}, {"pair", "[1,2,3]"}, {"pair", "[1,2,3,null]"}, {"pair", "{}"}};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *json = saved(&full);
		struct sample s;

		json_object_set_new(json, bad[i][0], json_loads(bad[i][1], JSON_DECODE_ANY, NULL));
		if (!state_load(fields, STATE_COUNT(fields), json, &s))
			fail_msg("\"%s\":%s is taken", bad[i][0], bad[i][1]);
		json_object_del(json, bad[i][0]);
		assert_int_equal(state_load(fields, STATE_COUNT(fields), json, &s), -1);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(what_is_no_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
