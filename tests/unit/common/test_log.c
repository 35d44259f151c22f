/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/log.c: a line stays one line, whatever a user has put into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

static char logged[1024];

static void take_line(enum plog_level level, const char *line)
{
	assert_int_equal(level, PLOG_WARN);
	snprintf(logged, sizeof(logged), "%s", line);
}

static void log_lines(void **state)
{
	static const char forged[] =
		"x\" of uid 7\n[2026-01-01] poppa-ledgerd: all is well\r\x1b[2K";
	char longer[3000];

	(void)state;
	plog_set_sink(take_line);
	plog_warn("refused \"%s\" of Zo\xc3\xab", forged);
	assert_string_equal(logged,
		"refused \"x\" of uid 7?[2026-01-01] poppa-ledgerd: all is well??[2K\" of "
		"Zo\xc3\xab");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	plog_warn("%s", longer);
	assert_int_equal(strlen(logged), sizeof(logged) - 1);
	plog_debug("beyond the level");
	plog_set_sink(NULL);
}

/* What two lines look like on standard error. stream: JOURNAL_STREAM, "%" for what is right. */
static const char *on_stderr(const char *stream)
{
	static char text[256];
	int ends[2], kept = dup(STDERR_FILENO);
	struct stat st;
	char right[64];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(right, sizeof(right), "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", *stream == '%' ? right : stream, 1);
	plog_init("part", PLOG_INFO);
	plog_warn("one");
	plog_info("two");
	dup2(kept, STDERR_FILENO);
	unsetenv("JOURNAL_STREAM");
	plog_init("part", PLOG_INFO);
	n = read(ends[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	close(ends[0]);
	close(ends[1]);
	close(kept);
	return text;
}

static void the_journal_has_priorities(void **state)
{
	const char *text;

	(void)state;
	assert_string_equal(on_stderr("%"), "<4>part: warning: one\n<6>part: two\n");
	/* What a service of systemd has started may write elsewhere. */
	text = on_stderr("1:2");
	assert_int_equal(*text, '[');
	assert_non_null(strstr(text, "] part: warning: one\n["));
	assert_int_equal(*on_stderr("no numbers"), '[');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_lines),
		cmocka_unit_test(the_journal_has_priorities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
