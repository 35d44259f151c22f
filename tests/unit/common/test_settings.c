/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/settings.c: each key, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "common/units.h"

static void settings_take_defaults_and_values(void **state)
{
	struct poppa_settings s, again;
	struct errmsg err;
	char text[SETTINGS_MAX_TEXT];

	(void)state;
	assert_int_equal(settings_parse(NULL, &s, &err), 0);
	assert_int_equal(s.shutter_ns, 3200000);
	assert_int_equal(s.stripe_classes, CLASSES_OWN);
	assert_int_equal(s.stripe_timelimit, TIMELIMIT_PROGRESS);
	assert_true(s.adaptive);
	assert_float_equal(s.overhead_max, 0.005, 1e-12);
	assert_int_equal(s.turns, TURNS_LIMITS);
	assert_int_equal(s.turn_ns, 500 * NS_PER_MS);
	assert_true(s.stripe_alone);
	assert_int_equal(s.stripe_wait_ns, 3600 * NS_PER_S);
	assert_float_equal(s.stripe_gain_min, -0.03, 1e-12);
	assert_float_equal(s.stripe_victim_max, 0.25, 1e-12);
	assert_int_equal(s.stripe_cache, 0);
	assert_int_equal(s.stripe_miss_cycles, 120);
	assert_float_equal(s.stripe_explore, 0.02, 1e-12);
	assert_int_equal(s.stripe_policy, POLICY_PERF);
	assert_int_equal(s.long_ns, LONG_AUTO);
	assert_float_equal(s.long_budget, 0.001, 1e-12);
	assert_int_equal(settings_parse("poppa_long=Off", &s, &err), 0);
	assert_int_equal(s.long_ns, 0);
	assert_int_equal(settings_parse(settings_format(&s, text, sizeof(text)), &again, &err), 0);
	assert_memory_equal(&s, &again, sizeof(s));
	assert_int_equal(
		settings_parse(
			"other=x,poppa_period=200ms, poppa_shutter=6400us ,poppa_pause=freezer,"
			"poppa_long=100ms,poppa_long_budget=0.2%,"
			"poppa_overhead_max=0.3%,poppa_adaptive=no,"
			"poppa_ledger=[::1]:7001,stripe_lanes=4,stripe_lanes_on=2x64:8,"
			"stripe_shape=Socket,stripe_shape_on=4x16:stripe,"
			"stripe_lanes_on=1x4:2,stripe_match=within:25%,stripe_partition=a,stripe_"
			"partition=long,stripe_default=debug:qos:shared,stripe_default=long,stripe_classes=shared,stripe_timelimit=wall,stripe_alone=no,"
			"stripe_gain_min=2%,stripe_victim_max=5%,stripe_explore=3%,stripe_policy=fair,stripe_wait=90s,stripe_cache=1.5m,stripe_miss_cycles=300,poppa_turns=yes,poppa_turn=200ms",
			&s, &err),
		0);
	assert_int_equal(s.period_ns, 200 * NS_PER_MS);
	assert_int_equal(s.pause, PAUSE_FREEZER);
	assert_int_equal(s.turns, TURNS_YES);
	assert_int_equal(s.turn_ns, 200 * NS_PER_MS);
	assert_int_equal(s.long_ns, 100 * NS_PER_MS);
	assert_float_equal(s.long_budget, 0.002, 1e-12);
	assert_false(s.adaptive);
	assert_float_equal(s.overhead_max, 0.003, 1e-12);
	assert_string_equal(s.ledger_host, "::1");
	assert_int_equal(s.ledger_port, 7001);
	assert_int_equal(s.stripe_lanes, 4);
	assert_false(s.stripe_alone);
	assert_int_equal(s.stripe_wait_ns, 90 * NS_PER_S);
	assert_float_equal(s.stripe_gain_min, 0.02, 1e-12);
	assert_float_equal(s.stripe_victim_max, 0.05, 1e-12);
	assert_int_equal(s.stripe_cache, 1536 << 10);
	assert_int_equal(s.stripe_miss_cycles, 300);
	assert_float_equal(s.stripe_explore, 0.03, 1e-12);
	assert_int_equal(s.stripe_policy, POLICY_FAIR);
	assert_int_equal(s.lanes_on.count, 2);
	assert_int_equal(s.lanes_on.rule[0].cores, 64);
	assert_int_equal(s.stripe_shape, SHAPE_SOCKET);
	assert_int_equal(s.shape_on.count, 1);
	assert_int_equal(s.shape_on.rule[0].sockets, 4);
	assert_int_equal(s.shape_on.rule[0].value, SHAPE_STRIPE);
	assert_int_equal(s.stripe_match, MATCH_WITHIN);
	assert_int_equal(s.stripe_classes, CLASSES_SHARED);
	assert_int_equal(s.stripe_timelimit, TIMELIMIT_WALL);
	assert_string_equal(s.stripe_partitions, "a,long");
	assert_string_equal(s.stripe_defaults, "debug:qos:shared:long");
	assert_float_equal(s.stripe_within, 0.25, 1e-12);
	assert_int_equal(settings_parse(settings_format(&s, text, sizeof(text)), &again, &err), 0);
	assert_memory_equal(&s, &again, sizeof(s));
	assert_int_equal(settings_parse("stripe_wait=0", &s, &err), 0);
	assert_int_equal(s.stripe_wait_ns, 0);
	assert_int_equal(settings_parse("poppa_ledger=ctl.example", &s, &err), 0);
	assert_string_equal(s.ledger_host, "ctl.example");
	assert_int_equal(s.ledger_port, 6824);
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
		/* poppa estimate alone has it. */
		{"poppa_method=unfiltered", "thesis"},
		{"poppa_long=yes", "auto, off"},
		{"poppa_long=0", "auto, off"},
		{"poppa_long=2s", "1ms to 1s"},
		{"poppa_long_budget=1s", "poppa_long_budget"},
		{"poppa_adaptive=maybe", "poppa_adaptive=maybe"},
		{"poppa_adaptive", "poppa_adaptive"},
		{"poppa_overhead_max=101", "poppa_overhead_max"},
		{"poppa_overhead_max=0.5s", "poppa_overhead_max"},
		{"poppa_overhead_max=-1%", "poppa_overhead_max"},
		{"poppa_turns=often", "poppa_turns=often"},
		{"poppa_turn=50ms", "100ms to 1s"},
		{"poppa_turn=0", "poppa_turn"},
		{"poppa_turns=yes,poppa_turn=100ms,poppa_shutter=20ms", "four times"},
		{"poppa_ledger=h:0", "poppa_ledger"},
		{"poppa_price=cheap", "poppa_price=cheap"},
		{"poppa_price=linear:x", "poppa_price=linear:x"},
		{"poppa_price_partition=short:cheap", "poppa_price_partition=short:cheap"},
		{"poppa_price_qos=cheap", "poppa_price_qos=cheap"},
		{"stripe_lanes=1", "stripe_lanes"},
		{"stripe_lanes_on=2x8", "SOCKETSxCORES:LANES"},
		{"stripe_lanes_on=2x8:1", "stripe_lanes_on=2x8:1"},
		{"stripe_lanes_on=2:8x2", "SOCKETSxCORES:LANES"},
		{"stripe_shape=row", "stripe, socket"},
		{"stripe_shape_on=2x8:row",
			"stripe_shape_on=row is unknown: choose one of stripe, socket"},
		{"stripe_shape_on=2x8", "SOCKETSxCORES:SHAPE"},
		{"stripe_shape_on=0x8:socket", "stripe_shape_on=0x8:socket"},
		{"stripe_match=within", "stripe_match=within"},
		{"stripe_match=within:x", "stripe_match"},
		{"stripe_partition=", "stripe_partition="},
		{"stripe_default=", "stripe_default="},
		{"stripe_default=a::b", "stripe_default=a::b: a name is missing"},
		{"stripe_default=a:", "stripe_default=a:"},
		{"stripe_default=:a", "stripe_default=:a"},
		{"stripe_default=a:qos", "a name is missing"},
		{"stripe_default=qos:", "a name is missing"},
		{"stripe_match=some", "any, exact, within"},
		{"stripe_classes=mine", "own"},
		{"stripe_timelimit=cpu", "progress, wall"},
		{"stripe_alone=maybe", "no, yes"},
		{"stripe_wait=10", "stripe_wait"},
		{"stripe_wait=25h", "1s to 24h"},
		{"stripe_gain_min=-51%", "-50% to 50%"},
		{"stripe_gain_min=--1%", "stripe_gain_min=--1%"},
		{"stripe_gain_min=--0%", "stripe_gain_min=--0%"},
		{"stripe_gain_min=-", "stripe_gain_min=-"},
		{"stripe_gain_min=", "stripe_gain_min"},
		{"stripe_victim_max=-1%", "stripe_victim_max"},
		{"stripe_victim_max=101%", "0 to 100"},
		{"stripe_cache=32", "stripe_cache: \"32\" is no size"},
		{"stripe_cache=63K", "64K to 64G, or 0"},
		{"stripe_cache=65G", "64K to 64G, or 0"},
		{"stripe_cache=-1M", "is no size"},
		{"stripe_miss_cycles=0", "1 to 10000"},
		{"stripe_explore=101%", "0 to 100"},
		{"stripe_policy=unfair", "perf, fair"},
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

/* Each key that the message about an unknown one names: what all settings together say of it is
 * read again, and an empty value is refused with the key's name, whatever its kind. */
static void each_key_has_all_its_forms(void **state)
{
	struct poppa_settings usual, s;
	char text[SETTINGS_MAX_TEXT], item[300], *key, *rest;
	struct errmsg all, err;
	int keys = 0, said = 0;

	(void)state;
	settings_defaults(&usual);
	assert_int_equal(settings_parse(NULL, &s, &err), 0);
	assert_memory_equal(&s, &usual, sizeof(s));
	settings_format(&usual, text, sizeof(text));
	assert_int_equal(settings_parse(text, &s, &err), 0);
	assert_memory_equal(&s, &usual, sizeof(s));
	assert_int_equal(settings_parse("poppa_none=1", &s, &all), -1);
	for (key = strtok_r(
		     strstr(all.text, "the keys are ") + strlen("the keys are "), ", ", &rest);
		key; key = strtok_r(NULL, ", ", &rest)) {
		const char *at;

		if (!strcmp(key, "and"))
			continue;
		keys++;
		snprintf(item, sizeof(item), "%s=", key);
		at = strstr(text, item);
		if (at) {
			said++;
			snprintf(item, sizeof(item), "%.*s", (int)strcspn(at, ","), at);
			assert_int_equal(settings_parse(item, &s, &err), 0);
			assert_memory_equal(&s, &usual, sizeof(s));
		}
		snprintf(item, sizeof(item), "%s=", key);
		assert_int_equal(settings_parse(item, &s, &err), -1);
		assert_non_null(strstr(err.text, key));
	}
	assert_true(keys > 20 && said > 15);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_take_defaults_and_values),
		cmocka_unit_test(settings_name_what_is_wrong),
		cmocka_unit_test(each_key_has_all_its_forms),
		cmocka_unit_test(the_ledger_is_found_whatever_else_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
