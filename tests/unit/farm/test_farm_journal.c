/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the journal of poppa-farm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fsio.h"
#include "farm/farm_journal.h"

static char dir[] = "/tmp/farm-journal-XXXXXX", path[100];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void write_file(const char *text)
{
	struct errmsg err;

	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
}

static void remembers(void **state)
{
	struct farm_journal j, other;
	struct errmsg err;

	(void)state;
	assert_int_equal(farm_journal_open(&j, path, &err), 0);
	assert_false(farm_journal_has(&j, 3, 30));
	for (uint64_t i = 5000; i > 0; i--)
		assert_int_equal(farm_journal_add(&j, i, i * 10, &err), 0);
	assert_int_equal(farm_journal_sync(&j, &err), 0);
	assert_int_equal(farm_journal_open(&other, path, &err), -1);
	assert_non_null(strstr(err.text, "another poppa-farm uses this journal"));
	farm_journal_close(&other);
	farm_journal_close(&j);
	assert_int_equal(farm_journal_open(&j, path, &err), 0);
	for (uint64_t i = 1; i <= 5000; i++)
		assert_true(farm_journal_has(&j, i, i * 10));
	/* Another text in the same line. */
	assert_false(farm_journal_has(&j, 3, 31));
	assert_false(farm_journal_has(&j, 5001, 50010));
	farm_journal_close(&j);
}

/* A line that a crash cut is not believed, and does not spoil the next one. */
static void cut_line(void **state)
{
	struct farm_journal j;
	struct errmsg err;

	(void)state;
	write_file("poppa-farm 1\n1 a\n2 1");
	assert_int_equal(farm_journal_open(&j, path, &err), 0);
	assert_true(farm_journal_has(&j, 1, 10));
	assert_false(farm_journal_has(&j, 2, 1));
	assert_int_equal(farm_journal_add(&j, 7, 255, &err), 0);
	farm_journal_close(&j);
	assert_int_equal(farm_journal_open(&j, path, &err), 0);
	assert_true(farm_journal_has(&j, 7, 255));
	farm_journal_close(&j);
}

static void other_files(void **state)
{
	struct farm_journal j;
	struct errmsg err;

	(void)state;
	write_file("root:x:0:0\n");
	assert_int_equal(farm_journal_open(&j, path, &err), -1);
	assert_non_null(strstr(err.text, "no journal of poppa-farm"));
	farm_journal_close(&j);
	write_file("\n");
	assert_int_equal(farm_journal_open(&j, path, &err), -1);
	farm_journal_close(&j);
	write_file("one line without an end");
	assert_int_equal(farm_journal_open(&j, path, &err), -1);
	farm_journal_close(&j);
	/* What a crash may leave of a new journal. */
	write_file("poppa-fa");
	assert_int_equal(farm_journal_open(&j, path, &err), 0);
	assert_int_equal(farm_journal_add(&j, 1, 1, &err), 0);
	farm_journal_close(&j);
	assert_int_equal(farm_journal_open(&j, path, &err), 0);
	assert_true(farm_journal_has(&j, 1, 1));
	farm_journal_close(&j);
	write_file("poppa-farm 1\n1 a\nx\n");
	assert_int_equal(farm_journal_open(&j, path, &err), -1);
	assert_non_null(strstr(err.text, "1 lines cannot be read"));
	farm_journal_close(&j);
	assert_int_equal(farm_journal_open(&j, "/nonexistent/journal", &err), -1);
	farm_journal_close(&j);
	assert_int_equal(farm_journal_open(&j, NULL, &err), 0);
	assert_int_equal(farm_journal_add(&j, 1, 1, &err), 0);
	farm_journal_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remembers),
		cmocka_unit_test(cut_line),
		cmocka_unit_test(other_files),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
