/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/fsio.c: directories, and files written and read whole. */
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

#include "common/fsio.h"

static void files(void **state)
{
	static const char text[] = "# node\nRunDir=/r/%n # here\n";
	char dir[] = "/tmp/test_fsio.XXXXXX", path[64], deep[64];
	struct errmsg err = {""};
	char *back;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(deep, sizeof(deep), "%s/a/b", dir);
	assert_int_equal(fsio_mkdirs(deep, 0755, &err), 0);
	assert_int_equal(fsio_mkdirs(deep, 0755, &err), 0);
	assert_int_equal(fsio_write(path, text, strlen(text), 0644, 1, &err), 0);
	back = fsio_read(path, 1000, NULL, &err);
	assert_string_equal(back, text);
	free(back);
	assert_null(fsio_read(path, 5, NULL, &err));
	assert_int_equal(errno, EFBIG);
	assert_int_equal(unlink(path), 0);
	rmdir(deep);
	snprintf(deep, sizeof(deep), "%s/a", dir);
	rmdir(deep);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
