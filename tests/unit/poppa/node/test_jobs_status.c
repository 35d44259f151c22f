/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_status.c: who sees what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/units.h"
#include "unit/poppa/node/jobs_fixture.h"

static const char *text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static void users_see_their_own(void **state)
{
	json_t *list;

	(void)state;
	add_job(1, 1, COUNTER_PERF);
	add_job(2, 1, COUNTER_PERF);
	list = jobs_status(&js, 0);
	assert_int_equal(json_array_size(list), 2);
	json_decref(list);
	list = jobs_status(&js, 1002);
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(number(json_array_get(list, 0), "job"), 2);
	json_decref(list);
	list = jobs_status(&js, 1003);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
}

static void what_is_told_of_a_job(void **state)
{
	struct job *j = add_job(1, 3, COUNTER_PERF);
	json_t *list, *one;

	(void)state;
	strcpy(j->reg.user, "eve");
	j->tally->lane = 1;
	j->tally->cores = 8;
	j->ran = 4;
	j->state = JOB_PARTLY_STOPPED;
	jobs_discard(&js, j->task[1].counter, NULL, NULL);
	j->task[1].counter = NULL;
	tally_partner(j->tally, 9);
	tally_paused(j->tally, NS_PER_S / 4);
	jobs_account(&js);
	now += 3 * NS_PER_S;
	list = jobs_status(&js, 0); /* brings times up to date */
	one = json_array_get(list, 0);
	assert_string_equal(text(one, "user"), "eve");
	assert_int_equal(number(one, "uid"), 1001);
	assert_int_equal(number(one, "lane"), 1);
	assert_int_equal(number(one, "cores"), 8);
	assert_int_equal(number(one, "tasks"), 3);
	assert_int_equal(number(one, "counted_tasks"), 2);
	assert_string_equal(text(one, "backend"), "perf");
	assert_string_equal(text(one, "state"), "partly-stopped");
	assert_string_equal(text(one, "pause"), "none");
	assert_float_equal(number(one, "solo_s"), 3, 1e-9);
	assert_float_equal(number(one, "paused_s"), 0.25, 1e-9);
	assert_int_equal(number(one, "ran_while_held"), 4);
	/* Without blocks nothing is known. */
	assert_true(json_is_null(json_object_get(one, "degradation")));
	assert_true(json_is_null(json_object_get(one, "ci95")));
	assert_true(json_is_null(json_object_get(one, "block_every_s")));
	assert_int_equal(
		json_integer_value(json_array_get(json_object_get(one, "partners"), 0)), 9);
	assert_null(json_object_get(one, "attribution"));
	json_decref(list);
	/* What each of several cost is told, as far as it is known. */
	tally_partner(j->tally, 10);
	list = jobs_status(&js, 0);
	assert_true(json_is_array(json_object_get(json_array_get(list, 0), "attribution")));
	json_decref(list);
}

static void totals(void **state)
{
	json_t *t = jobs_totals(&js, 0);

	(void)state;
	assert_true(json_is_null(json_object_get(t, "overhead")));
	assert_true(json_is_null(json_object_get(t, "overhead_model")));
	assert_true(json_is_null(json_object_get(t, "period_s")));
	assert_true(json_is_false(json_object_get(t, "active")));
	json_decref(t);
	js.co_ns = 1000 * NS_PER_S;
	js.paused_ns = 2 * NS_PER_S;
	js.blocks = 12;
	js.outcome[SHUTTER_OK] = 9;
	js.outcome[SHUTTER_GONE] = 3;
	js.limit.level = 2;
	t = jobs_totals(&js, 0);
	assert_float_equal(number(t, "overhead"), 0.002, 1e-12);
	assert_int_equal(number(t, "shutters"), 12);
	assert_float_equal(number(t, "shutter_cpu_s"), 2, 1e-9);
	assert_int_equal(json_object_size(json_object_get(t, "discarded")), SHUTTER_OUTCOMES - 1);
	assert_int_equal(
		number(json_object_get(t, "discarded"), shutter_outcome_name(SHUTTER_OVERDUE)), 0);
	assert_int_equal(
		number(json_object_get(t, "discarded"), shutter_outcome_name(SHUTTER_GONE)), 3);
	assert_int_equal(number(json_object_get(t, "cost"), "level"), 2);
	assert_true(json_is_null(json_object_get(json_object_get(t, "cost"), "held")));
	json_decref(t);
}

/* What a user sees of blocks is old, and never of which kind they were. */
static void users_see_no_single_block(void **state)
{
	json_t *t;

	(void)state;
	js.blocks = 12;
	js.outcome[SHUTTER_RAN] = 1;
	t = jobs_totals(&js, 1001);
	assert_int_equal(number(t, "shutters"), 12);
	assert_null(json_object_get(t, "shams"));
	assert_null(json_object_get(t, "discarded"));
	json_decref(t);
	js.blocks++;
	now += NS_PER_S;
	t = jobs_totals(&js, 1001);
	assert_int_equal(number(t, "shutters"), 12);
	json_decref(t);
	t = jobs_totals(&js, 0);
	assert_int_equal(number(t, "shutters"), 13);
	assert_int_equal(
		number(json_object_get(t, "discarded"), shutter_outcome_name(SHUTTER_RAN)), 1);
	json_decref(t);
	now += 120 * NS_PER_S;
	t = jobs_totals(&js, 1001);
	assert_int_equal(number(t, "shutters"), 13);
	json_decref(t);
}

/* The model's cost of two jobs without shams is that of the thesis: (n-1)S / n(3S+P). */
static void cost_by_the_model(void **state)
{
	json_t *t;

	(void)state;
	add_job(1, 1, COUNTER_PERF);
	add_job(2, 1, COUNTER_PERF);
	settings.overhead_max = 0;
	settings.adaptive = false;
	js.changed = true;
	jobs_update(&js);
	js.schedule.sham_every = 0;
	t = jobs_totals(&js, 0);
	assert_true(json_is_true(json_object_get(t, "active")));
	assert_float_equal(number(t, "period_s"), (double)settings.period_ns / NS_PER_S, 1e-9);
	assert_float_equal(number(t, "overhead_model"),
		(double)settings.shutter_ns /
			(2.0 * (double)(3 * settings.shutter_ns + settings.period_ns)),
		1e-6);
	json_decref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOBS_TEST(users_see_their_own),
		JOBS_TEST(what_is_told_of_a_job),
		JOBS_TEST(totals),
		JOBS_TEST(users_see_no_single_block),
		JOBS_TEST(cost_by_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
