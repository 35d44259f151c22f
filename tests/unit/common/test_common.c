/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common. */
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
#include "common/keyval.h"
#include "common/hostport.h"
#include "common/log.h"
#include "common/log_limit.h"
#include "common/nodeconf.h"
#include "common/settings.h"
#include "common/settings_kept.h"
#include "common/tags.h"
#include "common/units.h"

static void messages(void **state)
{
	struct errmsg err = {"poppa_perod is unknown"};

	(void)state;
	assert_int_equal(errmsg_set(&err, "PrEpParameters: %s", err.text), -1);
	assert_string_equal(err.text, "PrEpParameters: poppa_perod is unknown");
	assert_int_equal(errmsg_set(NULL, "nobody asked"), -1);
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {{"200ms", 200000000}, {"3200us", 3200000}, {"1.5s", 1500000000}, {"0", 0},
		{"7ns", 7}, {"2h", 7200000000000}, {"10m", 600000000000}};
	static const char *const bad[] = {
		"", "200", "ms", "-3ms", " 3ms", "3 ms", "3msx", "0x10ms", "inf", "nan", "1e30s"};
	struct errmsg err;
	int64_t ns;
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(units_parse_duration(good[i].text, &ns, &err), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ns = 42;
		assert_int_equal(units_parse_duration(bad[i], &ns, &err), -1);
		assert_int_equal(ns, 42);
		assert_non_null(strstr(err.text, "200ms"));
	}
	assert_string_equal(units_format_duration(3200000, buf, sizeof(buf)), "3200us");
	assert_string_equal(units_format_duration(0, buf, sizeof(buf)), "0");
	assert_string_equal(units_format_duration(60 * NS_PER_S, buf, sizeof(buf)), "1m");
}

static void numbers(void **state)
{
	struct errmsg err;
	int64_t i;
	double d;

	(void)state;
	assert_int_equal(units_parse_int("42", 0, 100, &i, &err), 0);
	assert_int_equal(i, 42);
	assert_int_equal(units_parse_int("101", 0, 100, &i, &err), -1);
	assert_int_equal(units_parse_int("4x", 0, 100, &i, &err), -1);
	assert_int_equal(units_parse_int("", 0, 100, &i, &err), -1);
	assert_int_equal(units_parse_double("0.5", 0, 1, &d, &err), 0);
	assert_int_equal(units_parse_double("nan", 0, 1, &d, &err), -1);
	assert_int_equal(units_parse_percent("0.5%", &d, &err), 0);
	assert_float_equal(d, 0.005, 1e-12);
	assert_int_equal(units_parse_percent("101", &d, &err), -1);
}

static void settings_take_defaults_and_values(void **state)
{
	struct poppa_settings s, again;
	struct errmsg err;
	char text[SETTINGS_MAX_TEXT];

	(void)state;
	assert_int_equal(settings_parse(NULL, &s, &err), 0);
	assert_int_equal(s.shutter_ns, 3200000);
	assert_true(s.adaptive);
	assert_float_equal(s.overhead_max, 0.005, 1e-12);
	assert_int_equal(
		settings_parse(
			"other=x,poppa_period=200ms, poppa_shutter=6400us ,poppa_pause=freezer,"
			"poppa_overhead_max=0.3%,poppa_adaptive=no,"
			"poppa_ledger=[::1]:7001,stripe_lanes=4,stripe_lanes_on=2x64:8,"
			"stripe_lanes_on=1x4:2,stripe_match=within:25%,stripe_partition=a,stripe_"
			"partition=long",
			&s, &err),
		0);
	assert_int_equal(s.period_ns, 200 * NS_PER_MS);
	assert_int_equal(s.pause, PAUSE_FREEZER);
	assert_false(s.adaptive);
	assert_float_equal(s.overhead_max, 0.003, 1e-12);
	assert_string_equal(s.ledger_host, "::1");
	assert_int_equal(s.ledger_port, 7001);
	assert_int_equal(s.stripe_lanes, 4);
	assert_int_equal(s.stripe_rule_count, 2);
	assert_int_equal(s.stripe_rule[0].cores, 64);
	assert_int_equal(s.stripe_match, MATCH_WITHIN);
	assert_string_equal(s.stripe_partitions, "a,long");
	assert_float_equal(s.stripe_within, 0.25, 1e-12);
	assert_int_equal(settings_parse(settings_format(&s, text, sizeof(text)), &again, &err), 0);
	assert_memory_equal(&s, &again, sizeof(s));
	assert_int_equal(settings_parse("poppa_ledger=ctl.example", &s, &err), 0);
	assert_string_equal(s.ledger_host, "ctl.example");
	assert_int_equal(s.ledger_port, 6820);
}

static void settings_name_what_is_wrong(void **state)
{
	static const char *const bad[][2] = {
		{"poppa_perod=200ms", "poppa_perod"},
		{"poppa_period=200", "poppa_period"},
		{"poppa_period", "poppa_period"},
		{"poppa_period=1ms", "poppa_period"},
		{"poppa_shutter=2s", "poppa_shutter"},
		{"poppa_pause=kill", "freezer"},
		{"poppa_adaptive=maybe", "poppa_adaptive=maybe"},
		{"poppa_adaptive", "poppa_adaptive"},
		{"poppa_overhead_max=101", "poppa_overhead_max"},
		{"poppa_overhead_max=0.5s", "poppa_overhead_max"},
		{"poppa_overhead_max=-1%", "poppa_overhead_max"},
		{"poppa_ledger=h:0", "poppa_ledger"},
		{"poppa_price=cheap", "poppa_price=cheap"},
		{"poppa_price=linear:x", "poppa_price=linear:x"},
		{"poppa_price_partition=short:cheap", "poppa_price_partition=short:cheap"},
		{"poppa_price_qos=cheap", "poppa_price_qos=cheap"},
		{"stripe_lanes=1", "stripe_lanes"},
		{"stripe_lanes_on=2x8", "SOCKETSxCORES:LANES"},
		{"stripe_lanes_on=2x8:1", "stripe_lanes_on=2x8:1"},
		{"stripe_lanes_on=2:8x2", "SOCKETSxCORES:LANES"},
		{"stripe_match=within", "stripe_match=within"},
		{"stripe_match=within:x", "stripe_match"},
		{"stripe_partition=", "stripe_partition="},
		{"stripe_match=some", "any, exact, within"},
		{"poppa_period=10ms,poppa_shutter=20ms", "poppa_shutter"},
	};
	struct poppa_settings s;
	struct errmsg err;

	(void)state;
	settings_defaults(&s);
	s.windows = 7;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(settings_parse(bad[i][0], &s, &err), -1);
		assert_non_null(strstr(err.text, bad[i][1]));
		assert_int_equal(s.windows, 7);
	}
}

static void the_ledger_is_found_whatever_else_is_wrong(void **state)
{
	struct poppa_settings s;
	struct errmsg err = {""};

	(void)state;
	settings_defaults(&s);
	s.windows = 7;
	assert_int_equal(settings_parse_ledger("poppa_ledger=h:x,poppa_windows=2", &s, &err), -1);
	assert_non_null(strstr(err.text, "poppa_ledger"));
	assert_int_equal(s.windows, 7);
	assert_int_equal(
		settings_parse_ledger("poppa_windows=x,Poppa_Ledger=h:7,poppa_no", &s, &err), 0);
	assert_string_equal(s.ledger_host, "h");
	assert_int_equal(s.ledger_port, 7);
	assert_int_equal(s.windows, 4);
	assert_int_equal(settings_parse_ledger(NULL, &s, &err), 0);
	assert_string_equal(s.ledger_host, "");
}

static void settings_outlive_a_process(void **state)
{
	char dir[] = "/tmp/test_common.XXXXXX", path[64];
	struct poppa_settings s;
	struct errmsg err = {""};

	(void)state;
	assert_non_null(mkdtemp(dir));
	settings_defaults(&s);
	s.windows = 7;
	assert_int_equal(settings_kept(dir, &s), -1);
	assert_int_equal(settings_keep(dir, "poppa_windows=5,other=1,stripe_lanes=4", &err), 0);
	assert_int_equal(settings_kept(dir, &s), 0);
	assert_int_equal(s.windows, 5);
	assert_int_equal(s.stripe_lanes, 4);
	assert_int_equal(settings_keep(dir, "", &err), 0);
	assert_int_equal(settings_kept(dir, &s), 0);
	assert_int_equal(s.stripe_lanes, 2);
	/* As of a release with other keys. */
	assert_int_equal(settings_keep(dir, "stripe_lanes=3,poppa_later=1", &err), 0);
	assert_int_equal(settings_kept(dir, &s), -1);
	/* Nothing that could be used is kept. */
	s.windows = 7;
	assert_int_equal(settings_follow("poppa_windows=none", dir, false, &s, &err), -1);
	assert_int_equal(s.windows, 7);
	assert_non_null(strstr(err.text, "poppa_windows"));
	assert_non_null(strstr(err.text, "of before stay in force"));
	assert_int_equal(settings_follow("poppa_windows=none", dir, true, &s, &err), -1);
	assert_int_equal(s.windows, 4);
	assert_non_null(strstr(err.text, "the defaults are in force"));
	assert_int_equal(settings_keep(dir, "poppa_windows=5", &err), 0);
	assert_int_equal(settings_follow("poppa_windows=none", dir, true, &s, &err), -1);
	assert_int_equal(s.windows, 5);
	assert_non_null(strstr(err.text, "the last good settings are in force"));
	assert_int_equal(settings_follow("poppa_windows=6", dir, true, &s, &err), 0);
	assert_int_equal(s.windows, 6);
	assert_int_equal(s.stripe_lanes, 2);
	snprintf(path, sizeof(path), "%s/poppa_settings", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(settings_keep(dir, "", &err), -1);
	assert_non_null(strstr(err.text, dir));
}

static void tags(void **state)
{
	char *a, *b, *c;

	(void)state;
	a = tags_set(NULL, "colocate", "stripe");
	assert_string_equal(a, "colocate: stripe");
	b = tags_set("site note; ", "poppa", "d=0.1");
	assert_non_null(strstr(b, "site note"));
	free(b);
	b = tags_set(a, "poppa", "d=0.4 raw=7");
	assert_string_equal(b, "colocate: stripe; poppa: d=0.4 raw=7");
	c = tags_set(b, "colocate", "spread");
	assert_string_equal(c, "colocate: spread; poppa: d=0.4 raw=7");
	free(a);
	a = tags_get(c, "poppa");
	assert_string_equal(a, "d=0.4 raw=7");
	assert_null(tags_get(c, "pop"));
	free(a);
	a = tags_set(c, "poppa", NULL);
	assert_string_equal(a, "colocate: spread");
	free(b);
	b = tags_set(c, "colocate", NULL);
	assert_string_equal(b, "poppa: d=0.4 raw=7");
	free(a);
	free(b);
	free(c);
}

static void files_and_nodeconf(void **state)
{
	char dir[] = "/tmp/test_common.XXXXXX", path[64], deep[64], out[64];
	static const char text[] =
		"# node\nRunDir=/r/%n # here\nUprobe=liba.so:f\nUprobe=/x/y:g\nCounter=uprobe\n";
	struct nodeconf c;
	struct errmsg err = {""};
	char *back;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/poppa.conf", dir);
	snprintf(deep, sizeof(deep), "%s/a/b", dir);
	assert_int_equal(fsio_mkdirs(deep, 0755, &err), 0);
	assert_int_equal(fsio_mkdirs(deep, 0755, &err), 0);
	assert_int_equal(fsio_write(path, text, strlen(text), 0644, 1, &err), 0);
	back = fsio_read(path, 1000, NULL, &err);
	assert_string_equal(back, text);
	free(back);
	assert_null(fsio_read(path, 5, NULL, &err));
	assert_int_equal(errno, EFBIG);
	assert_int_equal(nodeconf_load(path, &c, &err), 0);
	assert_string_equal(nodeconf_expand(c.run_dir, "n1", out, sizeof(out)), "/r/n1");
	assert_int_equal(c.uprobe_count, 2);
	assert_true(c.counter_set && c.counter == COUNTER_UPROBE);
	assert_int_equal(fsio_write(path, "RunDri=/r\n", 10, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_non_null(strstr(err.text, "line 1"));
	assert_non_null(strstr(err.text, "RunDri"));
	assert_string_equal(c.run_dir, "/r/%n");
	assert_int_equal(fsio_write(path, "RunDir\n", 7, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_int_equal(fsio_write(path, "SpoolDir=\n", 10, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_non_null(strstr(err.text, "SpoolDir"));
	assert_int_equal(fsio_write(path, "MungeSocket=\n", 13, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), 0);
	assert_int_equal(unlink(path), 0);
	/* Who names a file means it; the usual one need not be there. */
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_non_null(strstr(err.text, path));
	setenv("POPPA_CONF", path, 1);
	assert_int_equal(nodeconf_load(path, &c, &err), 0);
	unsetenv("POPPA_CONF");
	assert_string_equal(c.run_dir, "/run/poppa");
	rmdir(deep);
	snprintf(deep, sizeof(deep), "%s/a", dir);
	rmdir(deep);
	assert_int_equal(rmdir(dir), 0);
}

static void hosts_and_ports(void **state)
{
	static const char *const bad[] = {"", ":7", "[::1", "[::1]x", "::1]", "a b", "a/b", "[]",
		"[]:7", "a:", "a:0", "a:65536"};
	struct errmsg err = {""};
	char host[64] = "before";
	int port = 6820;

	(void)state;
	assert_int_equal(hostport_parse("ctl", host, sizeof(host), &port, &err), 0);
	assert_string_equal(host, "ctl");
	assert_int_equal(port, 6820);
	assert_int_equal(hostport_parse("[::1]:7000", host, sizeof(host), &port, &err), 0);
	assert_string_equal(host, "::1");
	assert_int_equal(port, 7000);
	assert_int_equal(hostport_parse("fe80::1", host, sizeof(host), &port, &err), 0);
	assert_string_equal(host, "fe80::1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*err.text = '\0';
		assert_int_equal(hostport_parse(bad[i], host, sizeof(host), &port, &err), -1);
		assert_true(*err.text);
		assert_string_equal(host, "fe80::1");
	}
}

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
		cmocka_unit_test(messages),
		cmocka_unit_test(durations),
		cmocka_unit_test(numbers),
		cmocka_unit_test(settings_take_defaults_and_values),
		cmocka_unit_test(settings_name_what_is_wrong),
		cmocka_unit_test(the_ledger_is_found_whatever_else_is_wrong),
		cmocka_unit_test(settings_outlive_a_process),
		cmocka_unit_test(tags),
		cmocka_unit_test(files_and_nodeconf),
		cmocka_unit_test(hosts_and_ports),
		cmocka_unit_test(log_lines),
		cmocka_unit_test(limited_log_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
