/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the reader of matrices, and the controls that change them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/world/controls.h"
#include "sim/world/matrix.h"
#include "unit/sim/world/text_file.h"

#define HEADER "# a comment\nprogram,partner,speedup,runs,compact_s\n"
#define TWO "a,a,1.0,3,9\na,b,1.5,3,9\nb,a,0.8,3,9\nb,b,0.9,3,9\n"

static int read_text(const char *text, struct matrix *m, char *path, struct errmsg *err)
{
	int rc;

	text_file(text, path);
	rc = matrix_read(path, m, err);
	unlink(path);
	return rc;
}

static void test_cells(void **state)
{
	char path[TEXT_FILE_PATH];
	struct errmsg err = {""};
	struct matrix m;

	(void)state;
	assert_int_equal(read_text(HEADER TWO, &m, path, &err), 0);
	assert_int_equal(m.count, 2);
	assert_true(m.speed[1] == 1.5 && m.speed[2] == 0.8);
	assert_true(m.alone[0] == 1.5 && m.alone[1] == 0.9);
	assert_true(fabs(matrix_degradation(&m, 0, 0) - 1.0 / 3) < 1e-12);
	assert_true(matrix_degradation(&m, 0, 1) == 0);
	/* The mean of 1, 1.5 is 1.25, of two at random the slower one 1.125: 10 % less. And 0.85,
	 * 0.825. */
	assert_true(fabs(m.another - (0.1 + 0.025 / 0.85) / 2) < 1e-12);
	matrix_free(&m);
}

/* A program that lacks cells is left out, whichever it is. */
static void test_incomplete(void **state)
{
	char path[TEXT_FILE_PATH];
	struct errmsg err = {""};
	struct matrix m;

	(void)state;
	assert_int_equal(
		read_text("speedup,program,partner\n2,x,a\n1,a,a\n1.5,a,b\n0.8,b,a\n0.9,b,b\n", &m,
			path, &err),
		0);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.left_out, 1);
	assert_string_equal(m.name[0], "a");
	assert_true(m.speed[1] == 1.5 && m.speed[2] == 0.8 && m.speed[3] == 0.9);
	matrix_free(&m);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *line, *fix;
	} bad[] = {
		{"program,partner\na,a\n", ":1: ", "speedup"},
		{HEADER TWO "b,b,1,1,1\n", ":7: ", "leave one out"},
		{HEADER "a,a,fast,1,1\n", ":3: ", "time compact"},
		{HEADER "a,a,0,1,1\n", ":3: ", "time compact"},
		{HEADER "a,a\n", ":3: ", "columns"},
		{HEADER ",a,1\n", ":3: ", "name both"},
		{HEADER "a,b,1\n", ": ", "needed"},
		{"", ": ", "needed"},
		{HEADER "a,a,1e-300,1,1\n", ":3: ", "from 0.01 to 100"},
		{HEADER "a,a,101,1,1\n", ":3: ", "from 0.01 to 100"},
		{"\xef\xbb\xbf" HEADER TWO, ":1: ", "byte order mark"},
		{"\xfe\xff" HEADER TWO, ":1: ", "iconv"},
		{"\x1f\x8b" HEADER TWO, " ", "gunzip"},
		{"program,partner,speedup,partner\na,a,1,a\n", ":1: ", "twice"},
	};
	char path[TEXT_FILE_PATH];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct errmsg err = {""};
		struct matrix m;

		assert_int_equal(read_text(bad[i].text, &m, path, &err), -1);
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, bad[i].line));
		assert_non_null(strstr(err.text, bad[i].fix));
	}
}

static void test_controls(void **state)
{
	struct controls additive = {.additive = true}, zero = {.zero = true},
			none = {.zero = false};
	char path[TEXT_FILE_PATH];
	struct errmsg err = {""};
	struct matrix m;

	(void)state;
	assert_int_equal(read_text(HEADER TWO, &m, path, &err), 0);
	controls_apply(&additive, 1, &m);
	assert_true(fabs(m.speed[0] * m.speed[3] - m.speed[1] * m.speed[2]) < 1e-12);
	controls_apply(&zero, 1, &m);
	for (int i = 0; i < 4; i++)
		assert_true(matrix_degradation(&m, i / 2, i % 2) == 0);
	matrix_free(&m);
	assert_int_equal(controls_parse("names,drift", &none, &err), 0);
	assert_true(none.names && none.drift && !none.zero);
	assert_int_equal(controls_parse("names,x", &none, &err), -1);
	assert_non_null(strstr(err.text, "permuted"));
}

static void test_directory(void **state)
{
	struct errmsg err = {""};
	struct matrix m;

	(void)state;
	assert_int_equal(matrix_read("/tmp", &m, &err), -1);
	assert_string_equal(err.text, "/tmp is a directory: name a file in it");
}

/* Each of three makes a matrix of its own, so two of them are one too many. */
static void test_contradictions(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {{"permuted,additive", "once for each"}, {"zero,names,permuted", "once for each"},
		{"drift,drift", "twice"}};
	struct errmsg err = {""};
	struct controls c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(controls_parse(bad[i].text, &c, &err), -1);
		assert_non_null(strstr(err.text, bad[i].why));
	}
	assert_int_equal(controls_parse("permuted,names,drift", &c, &err), 0);
}

/* The cells of a row change places, and none is lost. */
static void test_permuted(void **state)
{
	struct controls permuted = {.permuted = true};
	char path[TEXT_FILE_PATH];
	struct errmsg err = {""};
	struct matrix m;

	(void)state;
	assert_int_equal(read_text(HEADER TWO, &m, path, &err), 0);
	controls_apply(&permuted, 3, &m);
	assert_true(m.speed[0] + m.speed[1] == 2.5 && m.speed[0] * m.speed[1] == 1.5);
	matrix_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cells),
		cmocka_unit_test(test_incomplete), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_directory), cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_controls), cmocka_unit_test(test_permuted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
