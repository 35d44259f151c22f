/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/cli/ask/value_text.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/value_text.h"

static void members_and_paths(void **state)
{
	json_t *o =
		json_loads("{\"a\":{\"b\":[4,{\"c\":5}]},\"text\":\"t\",\"half\":0.5}", 0, NULL);

	(void)state;
	assert_int_equal(json_integer_value(value_at(o, "a.b.0")), 4);
	assert_int_equal(json_integer_value(value_at(o, "a.b.1.c")), 5);
	assert_null(value_at(o, "a.b.2"));
	assert_null(value_at(o, "a.x.c"));
	assert_ptr_equal(value_at(o, ""), o);
	assert_string_equal(value_text(o, "text"), "t");
	assert_string_equal(value_text(o, "half"), "?");
	assert_int_equal(value_whole(value_at(o, "a.b.1"), "c"), 5);
	assert_int_equal(value_whole(o, "text"), 0);
	assert_float_equal(value_real(o, "half"), 0.5, 0);
	assert_true(isnan(value_real(o, "text")));
	assert_true(isnan(value_real(NULL, "half")));
	json_decref(o);
}

static void numbers(void **state)
{
	json_t *ci = json_pack("[f, f]", 0.125, 0.25);
	struct value_cell c;

	(void)state;
	assert_string_equal(value_number(&c, 2, 1.005001), "1.01");
	assert_string_equal(value_number(&c, 2, NAN), "-");
	assert_string_equal(value_number(&c, 2, INFINITY), "-");
	assert_string_equal(value_interval(&c, 1, 100, " to ", ci), "12.5 to 25.0");
	assert_string_equal(value_interval(&c, 1, 100, " to ", NULL), "-");
	json_decref(ci);
}

static void assert_partners(const char *job, const char *text)
{
	json_t *o = json_loads(job, 0, NULL);
	struct value_cell c;

	assert_non_null(o);
	assert_string_equal(value_partners(&c, o), text);
	json_decref(o);
}

static void partners(void **state)
{
	json_t *many = json_array(), *job = json_pack("{s:o}", "partners", many);
	struct value_cell c;

	(void)state;
	assert_partners("{}", "-");
	assert_partners("{\"partners\":[]}", "-");
	assert_partners("{\"partners\":[12,13],\"attribution\":[]}", "12,13");
	assert_partners("{\"partners\":[12,13],\"attribution\":["
			"{\"job\":12,\"degradation\":0.081},{\"job\":13,\"degradation\":0.02}]}",
		"12:0.08,13:0.02");
	for (int i = 0; i < 30; i++)
		json_array_append_new(many, json_integer(1000000));
	/* Whole ones only: 15 of 7 digits, with 15 commas. */
	assert_int_equal(strlen(value_partners(&c, job)), 16 * 8 - 1);
	json_decref(job);
}

static void notes(void **state)
{
	json_t *o =
		json_loads("{\"guard_pid\":0,\"hold_s\":3,\"bad_settings\":\"poppa_x\",\"jobs\":["
			   "{\"job\":7,\"tasks\":1,\"counted_tasks\":0,\"backend\":\"perf\","
			   "\"shutter_sensing\":true,\"ran_while_held\":2}]}",
			0, NULL);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	value_notes(out, o);
	fclose(out);
	for (const char *const *said = (const char *const[]){"refused: poppa_x", "no guard runs",
		     "held off for another 3 s", "job 7 reacts to shutters",
		     "job 7 has no counter any more", "job 7 ran in 2 shutters", NULL};
		*said; said++)
		if (!strstr(text, *said))
			fail_msg("\"%s\" is not in: %s", *said, text);
	free(text);
	json_decref(o);
	o = json_loads("{\"guard_pid\":4,\"jobs\":[{\"job\":7,\"tasks\":1,\"counted_tasks\":1}]}",
		0, NULL);
	out = open_memstream(&text, &size);
	value_notes(out, o);
	fclose(out);
	assert_string_equal(text, "");
	free(text);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_paths),
		cmocka_unit_test(numbers),
		cmocka_unit_test(partners),
		cmocka_unit_test(notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
