/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/freezer.c: the files and words of both versions' freezers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "poppa/hold/freezer.h"

static char dir[64];

static void put(const char *file, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/freezer-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void says(const char *file, const char *text)
{
	char path[128], got[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fread(got, 1, strlen(text), f), strlen(text));
	fclose(f);
	assert_string_equal(got, text);
}

static void freeze(const struct freezer_words *f)
{
	assert_int_equal(freezer_command_in(f, dir, f->freeze), 0);
}

static void thaw(const struct freezer_words *f)
{
	assert_int_equal(freezer_command_in(f, dir, f->thaw), 0);
}

static void freezes_and_thaws(void **state)
{
	(void)state;
	put("freezer.state", "THAWED\n");
	freeze(&freezer_v1);
	says("freezer.state", "FROZEN");
	thaw(&freezer_v1);
	says("freezer.state", "THAWED");
	put("cgroup.freeze", "0\n");
	freeze(&freezer_v2);
	says("cgroup.freeze", "1");
	thaw(&freezer_v2);
	says("cgroup.freeze", "0");
}

static void knows_what_is_frozen(void **state)
{
	(void)state;
	put("freezer.state", "THAWED\n");
	assert_false(freezer_frozen(&freezer_v1, dir));
	put("freezer.state", "FREEZING\n");
	assert_true(freezer_frozen(&freezer_v1, dir));
	put("freezer.state", "FROZEN\n");
	assert_true(freezer_frozen(&freezer_v1, dir));
	put("cgroup.events", "populated 1\nfrozen 0\n");
	assert_false(freezer_frozen(&freezer_v2, dir));
	put("cgroup.events", "populated 1\nfrozen 1\n");
	assert_true(freezer_frozen(&freezer_v2, dir));
}

static void a_cgroup_that_is_gone(void **state)
{
	char longest[5000];

	(void)state;
	assert_int_equal(freezer_open(&freezer_v1, "/nonexistent"), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(freezer_command_in(&freezer_v2, "/nonexistent", freezer_v2.freeze), -1);
	assert_int_equal(errno, ENOENT);
	assert_false(freezer_frozen(&freezer_v2, "/nonexistent"));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(freezer_command_in(&freezer_v1, longest, freezer_v1.freeze), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freezes_and_thaws),
		cmocka_unit_test(knows_what_is_frozen),
		cmocka_unit_test(a_cgroup_that_is_gone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
