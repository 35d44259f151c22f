/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_plan.c: what the shutter gets to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/units.h"
#include "unit/poppa/node/jobs_fixture.h"

/* Makes a new plan, or none, and returns it. */
static const struct shutter_plan *update(void)
{
	js.changed = true;
	jobs_update(&js);
	assert_false(js.changed);
	assert_int_equal(js.active, published != NULL);
	return published;
}

static void two_jobs(void **state)
{
	struct job *a = add_job(1, 2, COUNTER_PERF), *b = add_job(2, 3, COUNTER_PERF);
	const struct shutter_plan *p;

	(void)state;
	/* A counter of another backend counts something else. */
	b->task[2].counter->kind = COUNTER_UPROBE;
	a->reg.restart = 7;
	p = update();
	assert_non_null(p);
	assert_false(js.blind);
	assert_int_equal(p->jobs, 2);
	assert_int_equal(p->tasks, 4);
	assert_int_equal(p->job[0].job_id, 1);
	assert_int_equal(p->job[0].restart, 7);
	assert_int_equal(p->job[0].tasks, 2);
	assert_int_equal(p->job[1].first_task, 2);
	assert_int_equal(p->job[1].tasks, 2);
	assert_ptr_equal(p->task[3].counter, b->task[1].counter);
	assert_true(p->schedule.job[0].measured && p->schedule.job[1].measured);
	assert_int_equal(p->windows, settings.windows);
	assert_int_equal(p->shutter_ns, settings.shutter_ns);
	assert_int_equal(p->schedule.block_ns, 3 * settings.shutter_ns);
	assert_memory_not_equal(
		&p->schedule.job[0].seed, &p->schedule.job[1].seed, sizeof(struct schedule_seed));
	/* Nothing has changed, so the plan stays. */
	jobs_update(&js);
	assert_int_equal(publications, 1);
}

static void none_beside_a_leftover(void **state)
{
	(void)state;
	add_job(1, 1, COUNTER_PERF);
	add_job(2, 1, COUNTER_PERF);
	js.left_by = 9;
	assert_null(update());
	assert_true(js.blind);
	js.left_by = 0;
	assert_non_null(update());
}

/* A job without a counter is held for the others, and has no turn of its own. */
static void without_a_counter_no_turn(void **state)
{
	const struct shutter_plan *p;

	(void)state;
	add_job(1, 1, COUNTER_NONE);
	add_job(2, 1, COUNTER_PERF);
	p = update();
	assert_non_null(p);
	assert_int_equal(p->jobs, 2);
	assert_false(p->schedule.job[0].measured);
	assert_true(p->schedule.job[1].measured);
}

/* All nodes of a job compute its turns from the seed that the registration tells. */
static void seeds(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF);
	struct schedule_seed told = {{11, 22}}, want;

	(void)state;
	add_job(2, 1, COUNTER_PERF);
	a->reg.seeded = true;
	a->reg.seed[0] = 11;
	a->reg.seed[1] = 22;
	want = schedule_seed(&told, 1, 0);
	assert_memory_equal(&update()->schedule.job[0].seed, &want, sizeof(want));
	js.secret.word[0] ^= 1; /* another poppad's: that one is for jobs without a seed */
	assert_memory_equal(&update()->schedule.job[0].seed, &want, sizeof(want));
}

static void no_plan(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b;

	(void)state;
	assert_null(update());
	assert_false(js.blind); /* it is alone */
	b = add_job(2, 1, COUNTER_PERF);
	b->state = JOB_STOPPED;
	assert_null(update());
	assert_false(js.blind);
	b->state = JOB_PARTLY_STOPPED;
	assert_non_null(update());
	b->state = JOB_RUNNING;
	assert_non_null(update());
	a->pausable = false;
	assert_null(update());
	assert_true(js.blind);
	a->pausable = true;
	a->unwatched = true;
	assert_null(update());
	assert_true(js.blind);
	/* A third job, of which no task is seen. */
	a->unwatched = false;
	add_job(3, 0, COUNTER_NONE)->state = JOB_WAITING;
	assert_non_null(update());
	jobs_find(&js, 3, 0)->unwatched = true;
	assert_null(update());
	assert_true(js.blind);
	jobs_find(&js, 3, 0)->seen = false;
	assert_non_null(update());
	js.allowed = false;
	assert_null(update());
	assert_true(js.blind);
	js.allowed = true;
	settings.period_ns = 0;
	assert_null(update());
	assert_true(js.blind);
	settings.period_ns = NS_PER_S;
	for (uint32_t id = 4; id <= SHUTTER_MAX_JOBS + 1; id++)
		add_job(id, 1, COUNTER_PERF);
	assert_non_null(update());
	add_job(100, 1, COUNTER_PERF);
	assert_null(update());
	assert_true(js.blind);
}

/* Three jobs hold each other longer than two, so the period becomes longer; the log says so once.
 */
static void period_by_the_limit(void **state)
{
	(void)state;
	settings.shutter_ns = 3200 * NS_PER_US;
	settings.period_ns = 300 * NS_PER_MS;
	settings.overhead_max = 0.006;
	add_job(1, 1, COUNTER_PERF);
	add_job(2, 1, COUNTER_PERF);
	assert_int_equal(update()->schedule.period_ns, 300 * NS_PER_MS);
	assert_string_equal(logged, "");
	add_job(3, 1, COUNTER_PERF);
	assert_int_equal(update()->schedule.period_ns,
		overhead_limit_period(3, 3200 * NS_PER_US, 300 * NS_PER_MS, 0.006));
	assert_true(published->schedule.period_ns > 300 * NS_PER_MS);
	assert_non_null(strstr(logged, "instead of 300 ms"));
	logged[0] = '\0';
	update();
	assert_string_equal(logged, "");
	jobs_drop(&js, jobs_find(&js, 3, 0));
	update();
	assert_non_null(strstr(logged, "is 300 ms again"));
}

/* The old plan names what was put aside, so that is freed when the new one is out. */
static void what_was_put_aside_goes(void **state)
{
	(void)state;
	add_job(1, 1, COUNTER_PERF);
	add_job(2, 1, COUNTER_PERF);
	update();
	jobs_drop(&js, jobs_find(&js, 2, 0));
	assert_int_equal(counters_closed, 0);
	assert_null(update());
	assert_int_equal(counters_closed, 1);
	assert_null(js.garbage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOBS_TEST(two_jobs),
		JOBS_TEST(none_beside_a_leftover),
		JOBS_TEST(without_a_counter_no_turn),
		JOBS_TEST(seeds),
		JOBS_TEST(no_plan),
		JOBS_TEST(period_by_the_limit),
		JOBS_TEST(what_was_put_aside_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
