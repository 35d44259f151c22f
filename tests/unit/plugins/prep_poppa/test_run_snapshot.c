/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the part of src/plugins/prep_poppa/run_snapshot.c that needs no slurmctld: the form
 * of a run in the settler's state file, and the shares of a resized run. */
#include "plugins/compat/accounting_compat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plugins/prep_poppa/run_snapshot.h"

/* Slurm's allocation. Its other functions are not bound: nothing here calls them. */
void *slurm_xcalloc(size_t count, size_t size, bool clear, bool may_fail, const char *file,
	int line, const char *function)
{
	(void)clear;
	(void)may_fail;
	(void)file;
	(void)line;
	(void)function;
	return calloc(count, size);
}

void slurm_xfree(void **p)
{
	free(*p);
	*p = NULL;
}

char *xstrdup(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* Every value is another one. */
static const char full[] =
	"{\"job\":1,\"restart\":2,\"uid\":3,\"array_job\":4,\"array_task\":5,\"db_index\":-6,"
	"\"submit\":7,\"start\":8,\"end\":9,\"assoc\":10,\"qos\":11,\"raw\":12,\"exit_code\":13,"
	"\"derived_ec\":14,\"requid\":15,\"state\":16,\"billable\":17.5,\"wall\":18.5,"
	"\"usage_factor\":null,\"parent\":19,\"part_qos\":-1,\"resized\":20,\"partition\":\"p\","
	"\"cluster\":\"c\",\"nodes\":\"n[1-2]\",\"tres\":\"1=2\",\"colocate\":\"stripe\","
	"\"comment\":\"said\",\"name\":\"mine\",\"node\":[{\"name\":\"n1\",\"weight\":4.0},"
	"{\"name\":\"n2\",\"weight\":2.0}]}";

static json_t *full_json(void)
{
	json_t *json = json_loads(full, 0, NULL);

	assert_non_null(json);
	return json;
}

/* What becomes of JSON that is read and written again; NULL where it is no run. */
static json_t *again(const json_t *json)
{
	struct run_snapshot *run = run_snapshot_from_json(json);
	json_t *back = run ? run_snapshot_to_json(run) : NULL;

	run_snapshot_free(run);
	return back;
}

static void there_and_back(void **state)
{
	json_t *json = full_json(), *back = again(json);
	struct run_snapshot *run = run_snapshot_from_json(json);

	(void)state;
	assert_true(json_equal(json, back));
	assert_int_equal(run->job_id, 1);
	assert_int_equal(run->restart, 2);
	assert_int_equal(run->uid, 3);
	assert_int_equal(run->array_task_id, 5);
	assert_true(run->last.db_index == (uint64_t)-6);
	assert_int_equal(run->last.submit, 7);
	assert_int_equal(run->start, 8);
	assert_int_equal(run->last.end, 9);
	assert_int_equal(run->last.charge.assoc_id, 10);
	assert_int_equal(run->last.charge.qos_id, 11);
	assert_int_equal(run->last.charge.raw, 12);
	assert_int_equal(run->last.start, 20);
	assert_true(run_snapshot_resized(run));
	assert_float_equal(run->wall_s, 18.5, 0);
	assert_string_equal(run->last.nodes, "n[1-2]");
	assert_string_equal(run->comment, "said");
	assert_int_equal(run->node_count, 2);
	assert_int_equal(run->last_node_count, 2);
	assert_string_equal(run->node[1].name, "n2");
	assert_float_equal(run->node[1].weight, 2, 0);
	run_snapshot_free(run);
	json_decref(json);
	json_decref(back);
}

/* Each member has a field of its own, and none may be missing. */
static void each_field(void **state)
{
	json_t *json = full_json(), *value;
	const char *key;

	(void)state;
	json_object_foreach(json, key, value)
	{
		json_t *other = json_deep_copy(json), *back;

		if (json_is_integer(value))
			json_object_set_new(other, key, json_integer(77));
		else if (json_is_string(value))
			json_object_set_new(other, key, json_string("other"));
		else if (!json_is_array(value))
			json_object_set_new(other, key, json_real(77.5));
		back = again(other);
		if (!json_equal(other, back))
			fail_msg("\"%s\" is not what it was", key);
		json_decref(back);
		json_object_del(other, key);
		/* Without nodes it is a run without nodes. */
		back = json_is_array(value) ? NULL : again(other);
		if (back)
			fail_msg("a run without \"%s\" is taken for one", key);
		json_decref(other);
	}
	json_decref(json);
}

static void what_is_no_run(void **state)
{
	static const char *const bad[][2] = {{"job", "-1"}, {"job", "4294967296"},
		{"start", "\"8\""}, {"part_qos", "-2"}, {"resized", "-1"}, {"name", "7"},
		{"node", "[{\"name\":\"n1\"}]"}, {"node", "[{\"weight\":1.0}]"}};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		json_t *json = full_json();

		json_object_set_new(json, bad[i][0], json_loads(bad[i][1], JSON_DECODE_ANY, NULL));
		if (run_snapshot_from_json(json))
			fail_msg("\"%s\":%s is taken", bad[i][0], bad[i][1]);
		json_decref(json);
	}
	assert_null(run_snapshot_from_json(NULL));
}

/* A run that was not resized, with a name that JSON cannot keep: no price depends on that. */
static void a_name_that_is_not_utf8(void **state)
{
	json_t *json = full_json(), *back;
	struct run_snapshot *run;

	(void)state;
	json_object_set_new(json, "resized", json_integer(0));
	run = run_snapshot_from_json(json);
	assert_non_null(run);
	assert_false(run_snapshot_resized(run));
	assert_int_equal(run->last.start, 8);
	run->name[0] = '\xff';
	back = run_snapshot_to_json(run);
	assert_string_equal(json_string_value(json_object_get(back, "name")), "");
	json_object_set_new(json, "name", json_string(""));
	assert_true(json_equal(json, back));
	run_snapshot_free(run);
	json_decref(json);
	json_decref(back);
}

static void shares_of_a_resized_run(void **state)
{
	struct settlement s = {.raw = 1000,
		.charged = 500,
		.size_count = 2,
		.size = {{.raw = 600, .seconds = 60}, {.raw = 200, .seconds = 20}}};
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	uint64_t charged[SETTLEMENT_MAX_SIZES];
	struct run_snapshot run = {.size_count = 2};

	(void)state;
	assert_int_equal(run_snapshot_shares(&run, &s, sizes, charged), 2);
	assert_int_equal(sizes[0].raw, 600);
	assert_int_equal(charged[0], 300);
	assert_int_equal(charged[1], 100);
	/* slurmdbd has other rows than those that the price was made of. */
	run.size_count = 1;
	assert_int_equal(run_snapshot_shares(&run, &s, sizes, charged), 0);
}

static void comments_show_a_price(void **state)
{
	struct settlement s = {.text = "d=0.2 raw=10 charged=8"};

	(void)state;
	assert_true(run_snapshot_comment_shows("site; poppa: d=0.2 raw=10 charged=8", &s));
	assert_false(run_snapshot_comment_shows("poppa: d=0.2 raw=10 charged=9", &s));
	assert_false(run_snapshot_comment_shows("d=0.2 raw=10 charged=8", &s));
	assert_false(run_snapshot_comment_shows(NULL, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(each_field),
		cmocka_unit_test(what_is_no_run),
		cmocka_unit_test(a_name_that_is_not_utf8),
		cmocka_unit_test(shares_of_a_resized_run),
		cmocka_unit_test(comments_show_a_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
