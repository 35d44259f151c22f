/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the lines that poppa-farm reads. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "farm/farm_input.h"

/* The input is a pipe into which the test writes. Returns its writing end. */
static int open_pipe(struct farm_input *in)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	*in = (struct farm_input){.fd = ends[0]};
	return ends[1];
}

static void feed(struct farm_input *in, int fd, const char *text, size_t len)
{
	struct errmsg err;

	while (len) {
		size_t n = len < 4096 ? len : 4096;

		assert_int_equal(write(fd, text, n), (ssize_t)n);
		assert_int_equal(farm_input_read(in, &err), 0);
		text += n;
		len -= n;
	}
}

static void expect(
	struct farm_input *in, uint64_t number, const char *wanted_key, const char *command)
{
	struct farm_line *line;
	struct errmsg err;
	const char *key;
	size_t len;

	assert_int_equal(farm_input_next(in, &line, &key, &len, &err), 1);
	assert_int_equal(line->number, number);
	assert_int_equal(len, strlen(wanted_key));
	assert_memory_equal(key, wanted_key, len);
	assert_string_equal(line->text, command);
	free(line);
}

static void expect_none(struct farm_input *in)
{
	struct farm_line *line;
	struct errmsg err;
	const char *key;
	size_t len;

	assert_int_equal(farm_input_next(in, &line, &key, &len, &err), 0);
}

static void expect_wrong(struct farm_input *in, const char *what)
{
	struct farm_line *line;
	struct errmsg err;
	const char *key;
	size_t len;

	assert_int_equal(farm_input_next(in, &line, &key, &len, &err), -1);
	assert_non_null(strstr(err.text, what));
}

static void lines(void **state)
{
	struct farm_input in;
	struct errmsg err;
	int fd = open_pipe(&in);

	(void)state;
	expect_none(&in);
	feed(&in, fd, "a\techo 1\n\n\techo\t2\nb", 19);
	expect(&in, 1, "a", "echo 1");
	expect(&in, 3, "", "echo\t2");
	expect_none(&in);
	feed(&in, fd, "c\tx\nno tab\nkey\t\nz\tlast", 22);
	expect(&in, 4, "bc", "x");
	expect_wrong(&in, "line 5 is no task: it has no tab");
	expect_wrong(&in, "line 6 is no task: there is no command");
	expect_none(&in);
	close(fd);
	assert_int_equal(farm_input_read(&in, &err), 0);
	assert_int_equal(in.fd, -1);
	expect(&in, 7, "z", "last");
	expect_none(&in);
	farm_input_close(&in);
}

static void long_ones(void **state)
{
	size_t size = FARM_LINE_MAX * 2;
	char *text = malloc(size);
	struct farm_input in;
	int fd = open_pipe(&in);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	text[0] = '\t';
	feed(&in, fd, text, FARM_LINE_MAX - 1);
	expect_none(&in);
	feed(&in, fd, "\n", 1);
	text[FARM_LINE_MAX - 1] = '\0';
	expect(&in, 1, "", text + 1);
	text[FARM_LINE_MAX - 1] = 'x';
	for (int i = 0; i < 3; i++) {
		feed(&in, fd, text, size);
		expect_none(&in);
	}
	/* What is too long is not kept. */
	assert_true(in.room < 8 * FARM_LINE_MAX);
	feed(&in, fd, "\na\tb\n", 5);
	expect_wrong(&in, "line 2 is no task: it is longer than 1 MiB");
	expect(&in, 3, "a", "b");
	feed(&in, fd, "a\tb\0c\n", 6);
	expect_wrong(&in, "line 4 is no task: it has a byte 0");
	close(fd);
	farm_input_close(&in);
	free(text);
}

/* The last line is too long, has no end, and was thrown away with the piece before the end. */
static void long_last_one(void **state)
{
	size_t size = FARM_LINE_MAX + 8192;
	char *text = malloc(size);
	struct farm_input in;
	struct errmsg err;
	int fd = open_pipe(&in);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	feed(&in, fd, text, size);
	expect_none(&in);
	close(fd);
	assert_int_equal(farm_input_read(&in, &err), 0);
	expect_wrong(&in, "line 1 is no task: it is longer than 1 MiB");
	farm_input_close(&in);
	free(text);
}

static void lines_of_windows(void **state)
{
	struct farm_input in;
	int fd = open_pipe(&in);

	(void)state;
	feed(&in, fd, "a\ttrue\r\nb\ttrue\n", 15);
	expect_wrong(&in, "line 1 is no task: it ends with a carriage return");
	expect(&in, 2, "b", "true");
	close(fd);
	farm_input_close(&in);
}

/* Servers take what no command can be. */
static void long_commands(void **state)
{
	struct farm_input in;
	int fd = open_pipe(&in);

	(void)state;
	in.command_max = 4;
	feed(&in, fd, "a long key\ttrue\nb\tfalse\n", 24);
	expect(&in, 1, "a long key", "true");
	expect_wrong(
		&in, "line 2 is no task: its command is longer than the 4 bytes that one may have");
	in.command_max = 0;
	feed(&in, fd, "c\tfalse\n", 8);
	expect(&in, 3, "c", "false");
	close(fd);
	farm_input_close(&in);
}

static void same_text_same_check(void **state)
{
	struct farm_input in;
	struct farm_line *line;
	struct errmsg err;
	uint64_t check[3];
	const char *key;
	size_t len;
	int fd = open_pipe(&in);

	(void)state;
	feed(&in, fd, "a\tb\na\tb\nb\tb\n", 12);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(farm_input_next(&in, &line, &key, &len, &err), 1);
		check[i] = line->check;
		free(line);
	}
	assert_true(check[0] == check[1] && check[0] != check[2]);
	close(fd);
	farm_input_close(&in);
	assert_int_equal(farm_input_open(&in, "/nonexistent/tasks", &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent/tasks"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(long_ones),
		cmocka_unit_test(long_last_one),
		cmocka_unit_test(lines_of_windows),
		cmocka_unit_test(long_commands),
		cmocka_unit_test(same_text_same_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
