/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/journal.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/journal.h"

static char dir[] = "/tmp/poppa-journal-XXXXXX";
static char path[64], aside[80];
static struct errmsg err;

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/lines", dir);
	snprintf(aside, sizeof(aside), "%s.damaged", path);
	/* A file that may not grow is a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static int drop_files(void **state)
{
	(void)state;
	unlink(path);
	unlink(aside);
	return 0;
}

static void put(const char *text)
{
	assert_int_equal(journal_replace(path, text, strlen(text), &err), 0);
}

static void assert_text(const char *file, const char *text)
{
	char *found = fsio_read(file, 65536, NULL, &err);

	assert_non_null(found);
	assert_string_equal(found, text);
	free(found);
}

static int append(struct journal *j, const char *text)
{
	return journal_append(j, path, text, strlen(text), &err);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit = {bytes, RLIM_INFINITY};

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Takes lines that begin with a letter. */
static bool take(const char *line, void *arg)
{
	if (*line < 'a' || *line > 'z')
		return false;
	strcat(strcat(arg, line), ";");
	return true;
}

static void assert_lines(const char *text, const char *want, int want_damaged, size_t want_end)
{
	char copy[128], taken[128] = "";
	int damaged = -1;

	strcpy(copy, text);
	assert_int_equal(journal_lines(copy, take, taken, &damaged), want_end);
	assert_string_equal(taken, want);
	assert_int_equal(damaged, want_damaged);
}

static void lines(void **state)
{
	(void)state;
	assert_lines("", "", 0, 0);
	assert_lines("a\nb\n", "a;b;", 0, 4);
	assert_lines("a\n\n1\n2\nb\n", "a;b;", 2, 9);
	/* Its writer was killed. */
	assert_lines("a\nb", "a;", 0, 2);
	assert_lines("a", "", 0, 0);
}

static void appends(void **state)
{
	struct journal j;

	(void)state;
	assert_int_equal(journal_open(&j, path, 0, &err), 0);
	assert_int_equal(append(&j, "a\n"), 0);
	assert_int_equal(append(&j, "b\n"), 0);
	assert_int_equal(journal_sync(&j, path, &err), 0);
	assert_int_equal(j.end, 4);
	journal_close(&j);
	assert_int_equal(j.fd, -1);
	journal_close(&j);
	assert_text(path, "a\nb\n");
	assert_int_equal(journal_append_at(path, 4, "c\n", 2, &err), 0);
	assert_text(path, "a\nb\nc\n");
}

/* The part of a line that a crash has left does not become the head of the next one. */
static void cuts_what_a_crash_left(void **state)
{
	struct journal j;

	(void)state;
	put("a\nb");
	assert_int_equal(journal_open(&j, path, 2, &err), 0);
	assert_int_equal(append(&j, "c\n"), 0);
	journal_close(&j);
	assert_text(path, "a\nc\n");
}

static void appends_to_its_own_file_only(void **state)
{
	(void)state;
	assert_int_equal(journal_append_at(path, 0, "a\n", 2, &err), -1);
	assert_non_null(strstr(err.text, path));
	put("a\nb\n");
	assert_int_equal(journal_append_at(path, 2, "c\n", 2, &err), -1);
	assert_int_equal(journal_append_at(path, 6, "c\n", 2, &err), -1);
	assert_text(path, "a\nb\n");
}

static void nothing_of_a_line_on_a_full_disk(void **state)
{
	struct journal j;

	(void)state;
	put("a\n");
	assert_int_equal(journal_open(&j, path, 2, &err), 0);
	limit_files(6);
	assert_int_equal(append(&j, "long line\n"), -1);
	assert_non_null(strstr(err.text, path));
	assert_text(path, "a\n");
	assert_int_equal(append(&j, "bc\n"), 0);
	assert_int_equal(journal_append_at(path, 5, "de\n", 3, &err), -1);
	assert_int_equal(journal_replace(path, "another\n", 8, &err), -1);
	limit_files(RLIM_INFINITY);
	assert_text(path, "a\nbc\n");
	assert_int_equal(append(&j, "de\n"), 0);
	journal_close(&j);
	assert_text(path, "a\nbc\nde\n");
}

static void damaged_files_are_kept(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(journal_keep_damaged(path, &err), -1);
	assert_non_null(strstr(err.text, aside));
	put("first\n");
	assert_int_equal(journal_keep_damaged(path, &err), 0);
	put("second\n");
	assert_text(aside, "first\n");
	assert_int_equal(journal_keep_damaged(path, &err), 0);
	put("third\n");
	assert_text(aside, "second\n");
	assert_text(path, "third\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void what_cannot_be_opened(void **state)
{
	struct journal j;

	(void)state;
	assert_int_equal(journal_open(&j, "/nonexistent/lines", 0, &err), -1);
	assert_int_equal(j.fd, -1);
	assert_non_null(strstr(err.text, "/nonexistent/lines"));
	assert_int_equal(journal_open(&j, dir, 0, &err), -1);
}

#define JOURNAL_TEST(test) cmocka_unit_test_teardown(test, drop_files)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOURNAL_TEST(lines),
		JOURNAL_TEST(appends),
		JOURNAL_TEST(cuts_what_a_crash_left),
		JOURNAL_TEST(appends_to_its_own_file_only),
		JOURNAL_TEST(nothing_of_a_line_on_a_full_disk),
		JOURNAL_TEST(damaged_files_are_kept),
		JOURNAL_TEST(what_cannot_be_opened),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
