/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/log_limit.c: what strangers can cause is logged a few times a minute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "common/log.h"
#include "common/log_limit.h"

static char logged[1024];

static void take_line(enum plog_level level, const char *line)
{
	assert_int_equal(level, PLOG_WARN);
	snprintf(logged, sizeof(logged), "%s", line);
}

static int lines_taken;

static void count_line(enum plog_level level, const char *line)
{
	take_line(level, line);
	lines_taken++;
}

static void limited_log_lines(void **state)
{
	struct log_limit limit = {0};

	(void)state;
	plog_set_sink(count_line);
	for (int i = 0; i < 1000; i++)
		log_limit_warn(&limit, "refusals", 6000 + i % 60, "number %d", i);
	assert_int_equal(lines_taken, LOG_LIMIT_A_MINUTE + 1);
	assert_string_equal(logged, "more refusals: not logged for the rest of this minute");
	log_limit_tell(&limit);
	assert_string_equal(logged, "990 more refusals were not logged");
	log_limit_tell(&limit);
	assert_int_equal(lines_taken, LOG_LIMIT_A_MINUTE + 2);
	/* Of what was told of, nothing is told again; what is new counts. */
	log_limit_warn(&limit, "refusals", 6059, "one more");
	log_limit_warn(&limit, "refusals", 6059, "one more");
	assert_int_equal(lines_taken, LOG_LIMIT_A_MINUTE + 2);
	log_limit_warn(&limit, "refusals", 6060, "the next minute");
	assert_int_equal(lines_taken, LOG_LIMIT_A_MINUTE + 4);
	assert_string_equal(logged, "the next minute");
	/* A clock that is set back begins another minute, too. */
	log_limit_warn(&limit, "refusals", 60, "long ago");
	assert_string_equal(logged, "long ago");
	plog_set_sink(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limited_log_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
