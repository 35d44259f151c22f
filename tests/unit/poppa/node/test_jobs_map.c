/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_map.c: which jobs are mapped, and when their counters run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "unit/poppa/node/jobs_fixture.h"

struct map_job *__wrap_map_job_new(
	const struct nodeconf *c, const char *mount, uint32_t job_id, uid_t uid, int cores);
void __wrap_map_job_free(struct map_job *m);
void __wrap_map_job_look(struct map_job *m, const pid_t *process, int count);
bool __wrap_map_job_active(const struct map_job *m);
void __wrap_map_job_prepare(struct map_job *m);
void __wrap_map_job_count(struct map_job *m);
void __wrap_map_job_step(struct map_job *m, bool quiet);
bool __wrap_shutter_lock_quiet(struct shutter *s, int64_t ns);
int64_t __wrap_clock_own(void);

struct map_job {
	uint32_t id;
	bool active;
	int looks, tasks; /* how often it was looked at, and the tasks of the last time */
	char done[32];    /* p: prepared, c: counts, s: stopped, S: stopped and moved */
};

static int mapped, freed;
static bool no_memory, block_near;
static int64_t own, look_takes; /* processor time */
static int64_t quiet_for;       /* what was asked for last */

struct map_job *__wrap_map_job_new(
	const struct nodeconf *c, const char *mount, uint32_t job_id, uid_t uid, int cores)
{
	struct map_job *m = no_memory ? NULL : calloc(1, sizeof(*m));

	assert_ptr_equal(c, &conf);
	assert_ptr_equal(mount, js.env.cluster->cgroup_mount);
	assert_int_equal(uid, 1000 + job_id);
	assert_int_equal(cores, 4);
	if (m) {
		*m = (struct map_job){.id = job_id, .active = true};
		mapped++;
	}
	return m;
}

void __wrap_map_job_free(struct map_job *m)
{
	freed += m != NULL;
	free(m);
}

void __wrap_map_job_look(struct map_job *m, const pid_t *process, int count)
{
	m->looks++;
	m->tasks = count;
	for (int i = 0; i < count; i++)
		assert_int_equal(process[i], 1000000000 + i);
	own += look_takes;
}

bool __wrap_map_job_active(const struct map_job *m)
{
	return m->active;
}

/* Slow, and nobody else is to wait for it. */
void __wrap_map_job_prepare(struct map_job *m)
{
	assert_int_equal(shutter_locks, 0);
	strcat(m->done, "p");
}

void __wrap_map_job_count(struct map_job *m)
{
	assert_int_equal(shutter_locks, 1);
	strcat(m->done, "c");
}

void __wrap_map_job_step(struct map_job *m, bool quiet)
{
	assert_int_equal(shutter_locks, quiet);
	strcat(m->done, quiet ? "S" : "s");
}

bool __wrap_shutter_lock_quiet(struct shutter *s, int64_t ns)
{
	(void)s;
	quiet_for = ns;
	shutter_locks += !block_near;
	return !block_near;
}

int64_t __wrap_clock_own(void)
{
	return own;
}

/* A job that asks to be mapped. */
static struct job *asks(uint32_t id, int tasks)
{
	struct job *j = add_job(id, tasks, COUNTER_PERF);

	strcpy(j->reg.map, "auto");
	j->reg.core_count = 4;
	return j;
}

static int begin(void **state)
{
	mapped = freed = 0;
	no_memory = block_near = false;
	own = look_takes = quiet_for = 0;
	return make_table(state);
}

/* Each job that has been mapped is freed with the table, or before. */
static int end(void **state)
{
	drop_table(state);
	assert_int_equal(freed, mapped);
	return 0;
}

static void who_asks_is_mapped(void **state)
{
	struct job *a, *b;

	(void)state;
	add_job(1, 2, COUNTER_PERF);
	a = asks(2, 3);
	b = asks(3, 0);
	strcpy(asks(4, 1)->reg.map, "never");
	asks(5, 1)->seen = false;       /* its registration is gone */
	asks(6, 1)->reg.core_count = 0; /* nobody knows where it may run */
	jobs_map_look(&js);
	assert_int_equal(mapped, 2);
	assert_int_equal(a->map->id, 2);
	assert_int_equal(a->map->tasks, 3);
	assert_int_equal(b->map->tasks, 0);
	jobs_map_look(&js);
	assert_int_equal(mapped, 2);
	assert_int_equal(a->map->looks, 2);
	/* Its registration goes before it does. */
	a->seen = false;
	jobs_map_look(&js);
	assert_null(a->map);
	assert_int_equal(freed, 1);
}

static void without_memory_it_tries_again(void **state)
{
	struct job *a = asks(1, 1);

	(void)state;
	no_memory = true;
	jobs_map_look(&js);
	assert_null(a->map);
	assert_int_equal(jobs_map_ms(&js), 0);
	jobs_map(&js);
	jobs_map(&js);
	no_memory = false;
	jobs_map_look(&js);
	assert_int_equal(a->map->looks, 1);
}

/* Who has thousands of threads is looked at less often, and others as before. */
static void a_look_that_takes_long_rests(void **state)
{
	struct job *a = asks(1, 1), *b;

	(void)state;
	look_takes = JOBS_LONG + 1;
	jobs_map_look(&js);
	look_takes = 0;
	b = asks(2, 1);
	now += JOBS_REST * JOBS_LONG;
	jobs_map_look(&js);
	assert_int_equal(a->map->looks, 1);
	assert_int_equal(b->map->looks, 1);
	now += NS_PER_MS;
	jobs_map_look(&js);
	jobs_map_look(&js);
	assert_int_equal(a->map->looks, 3);
	assert_int_equal(b->map->looks, 3);
}

/* Counters run at the end of an interval, and only then do threads move. */
static void counters_and_moves_take_turns(void **state)
{
	struct job *a = asks(1, 1), *b = asks(2, 1);

	(void)state;
	assert_int_equal(jobs_map_ms(&js), 0);
	jobs_map_look(&js);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(jobs_map_ms(&js), MAP_INTERVAL_MS - MAP_COUNT_MS);
		jobs_map(&js);
		assert_true(quiet_for > MAP_COUNT_MS * NS_PER_MS);
		assert_int_equal(jobs_map_ms(&js), MAP_COUNT_MS);
		jobs_map(&js);
		assert_true(quiet_for < MAP_COUNT_MS * NS_PER_MS);
	}
	assert_string_equal(a->map->done, "pcSpcS");
	assert_string_equal(b->map->done, "pcSpcS");
}

static void near_a_block_nothing_counts_or_moves(void **state)
{
	struct job *a = asks(1, 1);

	(void)state;
	jobs_map_look(&js);
	block_near = true;
	jobs_map(&js);
	jobs_map(&js);
	assert_string_equal(a->map->done, "ps");
	/* A block that came while counters ran: they stop, and nothing moves. */
	block_near = false;
	jobs_map(&js);
	block_near = true;
	jobs_map(&js);
	assert_string_equal(a->map->done, "pspcs");
}

static void who_stands_still_or_is_bound_says_nothing(void **state)
{
	struct job *a = asks(1, 1), *b = asks(2, 1);

	(void)state;
	jobs_map_look(&js);
	a->map->active = false;
	b->state = JOB_STOPPED;
	assert_int_equal(jobs_map_ms(&js), 0);
	jobs_map(&js);
	assert_string_equal(a->map->done, "");
	/* Those of a moment ago are to stop, even if there is nobody any more. */
	assert_int_equal(jobs_map_ms(&js), MAP_COUNT_MS);
	jobs_map(&js);
	assert_string_equal(a->map->done, "s");
	assert_string_equal(b->map->done, "s");
	assert_int_equal(jobs_map_ms(&js), 0);
	b->state = JOB_PARTLY_STOPPED;
	assert_int_equal(jobs_map_ms(&js), 0);
	b->state = JOB_RUNNING;
	assert_int_equal(jobs_map_ms(&js), MAP_INTERVAL_MS - MAP_COUNT_MS);
	jobs_map(&js);
	jobs_map(&js);
	assert_string_equal(a->map->done, "ss");
	assert_string_equal(b->map->done, "spcS");
}

static void other_settings_begin_anew(void **state)
{
	struct job *a = asks(1, 1);

	(void)state;
	add_job(2, 1, COUNTER_PERF);
	jobs_map_look(&js);
	jobs_map(&js);
	jobs_map_anew(&js);
	assert_null(a->map);
	jobs_map_anew(&js);
	jobs_map(&js);
	jobs_map_look(&js);
	assert_int_equal(mapped, 2);
	assert_string_equal(a->map->done, "");
}

int main(void)
{
#define MAP_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		MAP_TEST(who_asks_is_mapped),
		MAP_TEST(without_memory_it_tries_again),
		MAP_TEST(a_look_that_takes_long_rests),
		MAP_TEST(counters_and_moves_take_turns),
		MAP_TEST(near_a_block_nothing_counts_or_moves),
		MAP_TEST(who_stands_still_or_is_bound_says_nothing),
		MAP_TEST(other_settings_begin_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
