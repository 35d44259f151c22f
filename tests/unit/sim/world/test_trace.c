/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the reader of traces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/world/trace.h"
#include "unit/sim/world/text_file.h"

#define JOB "  7  100 5  60 4 -1 -1 8 120 -1 1 3 -1 9 1 -1 -1 -1\n"

/* Reads a text as a file; its name is in path. */
static int read_text(const char *text, int most, struct trace *t, char *path, struct errmsg *err)
{
	int rc;

	text_file(text, path);
	rc = trace_read(path, most, t, err);
	unlink(path);
	return rc;
}

static void test_fields(void **state)
{
	char path[TEXT_FILE_PATH];
	struct errmsg err = {""};
	struct trace t;

	(void)state;
	assert_int_equal(read_text("; MaxProcs: 338\n\n" JOB, 0, &t, path, &err), 0);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.processors, 338);
	assert_int_equal(t.job[0].number, 7);
	assert_true(t.job[0].submit_s == 100 && t.job[0].run_s == 60 && t.job[0].asked_s == 120);
	assert_int_equal(t.job[0].processors, 4);
	assert_int_equal(t.job[0].user, 3);
	assert_int_equal(t.job[0].program, 9);
	trace_free(&t);
}

/* Jobs are sorted, those that never ran are left out, what was asked for stands in for what was
 * allocated, and the biggest job is the machine where the header says nothing. */
static void test_unknown(void **state)
{
	static const char text[] = JOB "8 50 0 10 -1 -1 -1 32 -1 -1 1 -1 -1 -1 1 -1 -1 -1\n"
				       "9 60 0 -1 4 -1 -1 4 10 -1 0 1 1 1 1 -1 -1 -1\n"
				       "10 70 0 5 0 -1 -1 0 10 -1 0 1 1 1 1 -1 -1 -1\n";
	char path[TEXT_FILE_PATH];
	struct errmsg err = {""};
	struct trace t;

	(void)state;
	assert_int_equal(read_text(text, 0, &t, path, &err), 0);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.left_out, 2);
	assert_int_equal(t.processors, 32);
	assert_int_equal(t.job[0].number, 8);
	assert_int_equal(t.job[0].processors, 32);
	assert_true(t.job[0].asked_s < 0);
	trace_free(&t);
	assert_int_equal(read_text(text, 1, &t, path, &err), 0);
	assert_int_equal(t.count, 1);
	trace_free(&t);
}

/* Each error names file, line and fix. */
static void test_bad(void **state)
{
	static const struct {
		const char *text, *line, *fix;
	} bad[] = {
		{"; a\n" JOB "1 2 3\n", ":3: ", "write -1"},
		{JOB "1 2 x 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n", ":2: ", "comment"},
		{"1 -5 0 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n", ":1: ", "leave the job out"},
		{"1 1 0 nan 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n", ":1: ", "Standard Workload"},
		{"; nothing\n", ": ", "Standard Workload Format"},
		{"", ": ", "empty"},
		{"\xef\xbb\xbf" JOB, ":1: ", "byte order mark"},
		{"\xff\xfe" JOB, ":1: ", "iconv"},
		{JOB "1 1 0 4 100000000000000 6 7 8 9 1 1 1 1 1 1 1 1 1\n", ":2: ", "field 5"},
		{JOB "1 1 0 4 2.5 6 7 8 9 1 1 1 1 1 1 1 1 1\n", ":2: ", "field 5"},
		{JOB "1 1e300 0 4 5 6 7 8 9 1 1 1 1 1 1 1 1 1\n", ":2: ", "field 2"},
		{JOB "1 1 0 4 5 6 7 8 9 1 1 1e9 1 1 1 1 1 1\n", ":2: ", "field 12"},
		{JOB "1e300 1 0 4 5 6 7 8 9 1 1 1 1 1 1 1 1 1\n", ":2: ", "field 1,"},
		{"; MaxProcs: 99999999999999999999\n" JOB, ":1: ", "MaxProcs"},
	};
	char path[TEXT_FILE_PATH];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct errmsg err = {""};
		struct trace t;

		assert_int_equal(read_text(bad[i].text, 0, &t, path, &err), -1);
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, bad[i].line));
		assert_non_null(strstr(err.text, bad[i].fix));
		assert_null(t.job);
	}
}

/* A line of a comment or of a job that is longer than any of a trace. */
static void test_long(void **state)
{
	char path[TEXT_FILE_PATH], text[6000];
	struct errmsg err = {""};
	struct trace t;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[0] = ';';
	strcpy(text + sizeof(text) - 2, "\n");
	assert_int_equal(read_text(text, 0, &t, path, &err), -1);
	assert_non_null(strstr(err.text, ":1: the line is longer"));
}

static void test_directory(void **state)
{
	struct errmsg err = {""};
	struct trace t;

	(void)state;
	assert_int_equal(trace_read("/tmp", 0, &t, &err), -1);
	assert_string_equal(err.text, "/tmp is a directory: name a file in it");
}

static void test_missing(void **state)
{
	struct errmsg err = {""};
	struct trace t;

	(void)state;
	assert_int_equal(trace_read("/nowhere/t.swf", 0, &t, &err), -1);
	assert_non_null(strstr(err.text, "/nowhere/t.swf: No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_long), cmocka_unit_test(test_directory),
		cmocka_unit_test(test_missing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
