/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of which program of a job has used most processor time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "poppa/node/programs.h"

static void most_time_wins(void **state)
{
	struct programs p = {.count = 0};

	(void)state;
	assert_string_equal(programs_first(&p), "");
	programs_ran(&p, "bash", 0);
	programs_ran(&p, "", 9);
	assert_string_equal(programs_first(&p), "");
	programs_ran(&p, "bash", 3);
	programs_ran(&p, "lu", 2);
	assert_string_equal(programs_first(&p), "bash");
	programs_ran(&p, "lu", 2);
	assert_string_equal(programs_first(&p), "lu");
	assert_int_equal(p.count, 2);
}

/* However many programs a job starts, the one that uses more than an eighth of the time is found.
 */
static void names_are_bounded(void **state)
{
	struct programs p = {.count = 0};
	char name[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "step-%d", i);
		programs_ran(&p, name, 4);
		programs_ran(&p, "solver", 1);
	}
	assert_int_equal(p.count, PROGRAMS_MAX);
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "other-%d", i);
		programs_ran(&p, name, 4);
		programs_ran(&p, "solver", 3);
	}
	assert_string_equal(programs_first(&p), "solver");
}

static void names_are_printable(void **state)
{
	struct programs p = {.count = 0};
	char name[256];

	(void)state;
	programs_ran(&p, "a\tb\nc\033[2J\377", 1);
	assert_string_equal(programs_first(&p), "a?b?c?[2J?");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	programs_ran(&p, name, 2);
	assert_int_equal(strlen(programs_first(&p)), RECORD_PROGRAM - 1);
	programs_ran(&p, name, 2);
	assert_int_equal(p.count, 2);
}

static void survives_a_checkpoint(void **state)
{
	struct programs p = {.count = 0}, back = {.count = 1};
	json_t *saved;

	(void)state;
	programs_load(NULL, &back);
	assert_int_equal(back.count, 0);
	programs_ran(&p, "lu", 7);
	programs_ran(&p, "awk", 5);
	saved = programs_save(&p);
	programs_load(saved, &back);
	assert_int_equal(back.count, 2);
	assert_string_equal(programs_first(&back), "lu");
	programs_ran(&back, "awk", 3);
	assert_string_equal(programs_first(&back), "awk");
	json_decref(saved);
	/* What is no program, or too many. */
	saved = json_pack("[[s,i],[i],[s,s],i,[s,i]]", "a", 1, 7, "b", "c", 8, "d", -1);
	for (int i = 0; i < 100; i++)
		json_array_append_new(saved, json_pack("[s,i]", "again", i));
	programs_load(saved, &back);
	assert_int_equal(back.count, 2);
	assert_string_equal(programs_first(&back), "again");
	json_decref(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_time_wins),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(names_are_printable),
		cmocka_unit_test(survives_a_checkpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
