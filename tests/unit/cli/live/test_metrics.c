/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of writing metrics for Prometheus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live/metrics.h"

/* Two metrics, of which the second has no sample with a known value. */
static char *write_metrics(int json, size_t *len)
{
	struct metrics *m = metrics_new();
	json_t *none = json_object(),
	       *two = json_pack("{s:s, s:s}", "node", "n1", "user", "a\"b\\c\nd");

	assert_non_null(m);
	metrics_family(m, "poppa_up", METRIC_GAUGE, "Whether it answers");
	metrics_value(m, none, 1);
	metrics_value(m, two, 0.1 + 0.2);
	metrics_family(m, "poppa_shutters_total", METRIC_COUNTER, "Shutters so far");
	metrics_value(m, two, NAN);
	metrics_value(m, two, INFINITY);
	json_decref(none);
	json_decref(two);
	return metrics_finish(m, json, len);
}

static void test_text(void **state)
{
	size_t len;
	char *text = write_metrics(0, &len);

	(void)state;
	assert_non_null(text);
	assert_string_equal(text, "# HELP poppa_up Whether it answers\n"
				  "# TYPE poppa_up gauge\n"
				  "poppa_up 1\n"
				  "poppa_up{node=\"n1\",user=\"a\\\"b\\\\c\\nd\"} 0.3\n"
				  "# HELP poppa_shutters_total Shutters so far\n"
				  "# TYPE poppa_shutters_total counter\n");
	assert_int_equal(len, strlen(text));
	free(text);
}

static void test_json(void **state)
{
	size_t len;
	char *text = write_metrics(1, &len);
	json_t *all, *list;
	const char *name, *user;
	double value;

	(void)state;
	assert_non_null(text);
	assert_int_equal(len, strlen(text));
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
	all = json_loads(text, 0, NULL);
	list = json_object_get(all, "metrics");
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(json_unpack(json_array_get(list, 1), "{s:s, s:{s:s}, s:F}", "name", &name,
				 "labels", "user", &user, "value", &value),
		0);
	assert_string_equal(name, "poppa_up");
	assert_string_equal(user, "a\"b\\c\nd");
	assert_float_equal(value, 0.3, 1e-12);
	json_decref(all);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text), cmocka_unit_test(test_json)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
