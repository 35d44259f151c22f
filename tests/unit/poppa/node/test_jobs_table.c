/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_table.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/poppa/node/jobs_fixture.h"

static void finds_each_run(void **state)
{
	struct job *first = add_job(1, 0, COUNTER_NONE), *again = add_job(1, 0, COUNTER_NONE),
		   *other = add_job(2, 0, COUNTER_NONE);

	(void)state;
	again->reg.restart = 1;
	assert_int_equal(jobs_count(&js), 3);
	assert_ptr_equal(js.first, first);
	assert_ptr_equal(jobs_find(&js, 1, 0), first);
	assert_ptr_equal(jobs_find(&js, 1, 1), again);
	assert_ptr_equal(jobs_find(&js, 2, 0), other);
	assert_null(jobs_find(&js, 2, 1));
	js.changed = false;
	jobs_drop(&js, again);
	assert_true(js.changed);
	assert_null(jobs_find(&js, 1, 1));
	jobs_drop(&js, first);
	assert_ptr_equal(js.first, other);
	assert_int_equal(jobs_count(&js), 1);
}

/* A plan that is out may name it, so it is closed later. */
static void what_is_put_aside_is_closed_later(void **state)
{
	(void)state;
	jobs_drop(&js, add_job(1, 3, COUNTER_PERF));
	assert_int_equal(counters_closed, 0);
	jobs_empty_garbage(&js);
	assert_int_equal(counters_closed, 3);
	jobs_empty_garbage(&js);
	assert_int_equal(counters_closed, 3);
	js.changed = false;
	jobs_discard(&js, NULL, NULL, NULL);
	assert_false(js.changed);
	assert_null(js.garbage);
}

static void first_backend_counts(void **state)
{
	struct job *j = add_job(1, 3, COUNTER_UPROBE);

	(void)state;
	assert_int_equal(jobs_backend(add_job(2, 2, COUNTER_NONE)), COUNTER_NONE);
	assert_int_equal(jobs_backend(j), COUNTER_UPROBE);
	j->task[1].counter->kind = COUNTER_PERF;
	assert_int_equal(jobs_backend(j), COUNTER_PERF);
	j->task[2].counter->kind = COUNTER_HEARTBEAT;
	assert_int_equal(jobs_backend(j), COUNTER_HEARTBEAT);
}

static void the_host_names_the_counter(void **state)
{
	(void)state;
	settings.counter = COUNTER_PERF;
	conf.counter = COUNTER_UPROBE;
	conf.counter_set = false;
	assert_int_equal(jobs_wanted_counter(&js), COUNTER_PERF);
	conf.counter_set = true;
	assert_int_equal(jobs_wanted_counter(&js), COUNTER_UPROBE);
}

static void who_takes_part(void **state)
{
	struct job *j = add_job(1, 1, COUNTER_PERF);

	(void)state;
	assert_true(jobs_in_plan(j));
	j->state = JOB_PARTLY_STOPPED;
	assert_true(jobs_in_plan(j));
	j->state = JOB_STOPPED;
	assert_false(jobs_in_plan(j));
	j->state = JOB_WAITING;
	assert_false(jobs_in_plan(j));
}

static void the_higher_level_counts(void **state)
{
	struct job *j = add_job(1, 1, COUNTER_PERF);

	(void)state;
	settings.adaptive = true;
	j->pace.level = 2;
	assert_int_equal(pace_level(&j->pace), 2);
	assert_int_equal(jobs_level(&js, j), 2);
	js.limit.level = 4;
	assert_int_equal(jobs_level(&js, j), 4);
	js.limit.level = 1;
	settings.adaptive = false;
	assert_int_equal(jobs_level(&js, j), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOBS_TEST(finds_each_run),
		JOBS_TEST(what_is_put_aside_is_closed_later),
		JOBS_TEST(first_backend_counts),
		JOBS_TEST(the_host_names_the_counter),
		JOBS_TEST(who_takes_part),
		JOBS_TEST(the_higher_level_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
