/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/log.c: a line stays one line, whatever a user has put into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
