/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/settings_kept.c: good settings outlive a process, bad ones do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/settings_kept.h"

static void settings_outlive_a_process(void **state)
{
	char dir[] = "/tmp/test_settings.XXXXXX", path[64];
	struct poppa_settings s;
	struct errmsg err = {""};

	(void)state;
	assert_non_null(mkdtemp(dir));
	settings_defaults(&s);
	s.windows = 7;
	assert_int_equal(settings_kept(dir, &s), -1);
	assert_int_equal(settings_keep(dir, "poppa_windows=5,other=1,stripe_lanes=4", &err), 0);
	assert_int_equal(settings_kept(dir, &s), 0);
	assert_int_equal(s.windows, 5);
	assert_int_equal(s.stripe_lanes, 4);
	assert_int_equal(settings_keep(dir, "", &err), 0);
	assert_int_equal(settings_kept(dir, &s), 0);
	assert_int_equal(s.stripe_lanes, 2);
	/* As of a release with other keys. */
	assert_int_equal(settings_keep(dir, "stripe_lanes=3,poppa_later=1", &err), 0);
	assert_int_equal(settings_kept(dir, &s), -1);
	/* Nothing that could be used is kept. */
	s.windows = 7;
	assert_int_equal(settings_follow("poppa_windows=none", dir, false, &s, &err), -1);
	assert_int_equal(s.windows, 7);
	assert_non_null(strstr(err.text, "poppa_windows"));
	assert_non_null(strstr(err.text, "of before stay in force"));
	assert_int_equal(settings_follow("poppa_windows=none", dir, true, &s, &err), -1);
	assert_int_equal(s.windows, 4);
	assert_non_null(strstr(err.text, "the defaults are in force"));
	assert_int_equal(settings_keep(dir, "poppa_windows=5", &err), 0);
	assert_int_equal(settings_follow("poppa_windows=none", dir, true, &s, &err), -1);
	assert_int_equal(s.windows, 5);
	assert_non_null(strstr(err.text, "the last good settings are in force"));
	assert_int_equal(settings_follow("poppa_windows=6", dir, true, &s, &err), 0);
	assert_int_equal(s.windows, 6);
	assert_int_equal(s.stripe_lanes, 2);
	snprintf(path, sizeof(path), "%s/poppa_settings", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(settings_keep(dir, "", &err), -1);
	assert_non_null(strstr(err.text, dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_outlive_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
