/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of running a program and taking what it prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/ask/run_program.h"

#define LONG_MS 60000
#define MIB ((size_t)1 << 20)

/* Runs a command line of sh. */
static char *shell(const char *line, size_t max, int wait_ms, struct errmsg *err)
{
	static char sh[] = "sh", option[] = "-c";
	char *copy = strdup(line), *argv[] = {sh, option, copy, NULL}, *text;

	err->text[0] = '\0';
	text = run_program(argv, max, wait_ms, err);
	free(copy);
	return text;
}

static void expect(const char *line, const char *wanted)
{
	struct errmsg err;
	char *text = shell(line, MIB, LONG_MS, &err);

	if (!text)
		fail_msg("%s: %s", line, err.text);
	assert_string_equal(text, wanted);
	free(text);
}

static void expect_error(const char *line, size_t max, int wait_ms, const char *wanted)
{
	struct errmsg err;

	assert_null(shell(line, max, wait_ms, &err));
	assert_string_equal(err.text, wanted);
	/* It was waited for, so no child is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_output(void **state)
{
	(void)state;
	expect("echo one; echo two", "one\ntwo\n");
	expect("true", "");
	expect("cat", ""); /* standard input is empty */
	expect("echo answer; echo warning >&2", "answer\n");
}

/* What it says on standard error, where it succeeds. */
static void test_said(void **state)
{
	static char sh[] = "sh", option[] = "-c", good[] = "echo no; echo one >&2; echo two >&2",
		    bad[] = "echo why >&2; exit 3", quiet[] = "echo no";
	char *argv[] = {sh, option, good, NULL}, *text;
	struct errmsg err;

	(void)state;
	text = run_program_said(argv, LONG_MS, &err);
	assert_string_equal(text, "one\ntwo\n");
	free(text);
	argv[2] = quiet;
	text = run_program_said(argv, LONG_MS, &err);
	assert_string_equal(text, "");
	free(text);
	argv[2] = bad;
	assert_null(run_program_said(argv, LONG_MS, &err));
	assert_string_equal(err.text, "why");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* More than one pipe and than the first buffer hold, on both streams at once. */
static void test_much(void **state)
{
	struct errmsg err;
	char *text = shell(
		"yes | head -c 300000; yes | head -c 300000 >&2; printf end", MIB, LONG_MS, &err);

	(void)state;
	assert_non_null(text);
	assert_int_equal(strlen(text), 300003);
	assert_string_equal(text + 300000, "end");
	free(text);
}

static void test_errors(void **state)
{
	static char none[] = "no-such-program-of-poppa";
	char *argv[] = {none, NULL};
	struct errmsg err;

	(void)state;
	assert_null(run_program(argv, MIB, LONG_MS, &err));
	assert_string_equal(err.text, "no-such-program-of-poppa is not in PATH");
	expect_error("echo half; exit 3", MIB, LONG_MS, "sh fails without a word");
	expect_error("kill -9 $$", MIB, LONG_MS, "sh fails without a word");
	expect_error("echo first >&2; echo second >&2; exit 1", MIB, LONG_MS, "first");
	expect_error("printf 'red \\033[31m' >&2; exit 1", MIB, LONG_MS, "red ?[31m");
	expect_error("yes", MIB, LONG_MS, "sh prints more than 1 MB: ask for less");
	expect_error("exec sleep 600", MIB, 100, "sh did not answer in time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_output),
		cmocka_unit_test(test_said), cmocka_unit_test(test_much),
		cmocka_unit_test(test_errors)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
