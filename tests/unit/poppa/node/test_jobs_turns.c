/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_turns.c: which jobs take turns, and what they are told of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "unit/poppa/node/jobs_fixture.h"
#include "unit/poppa/noisy_block.h"

#define S NS_PER_S

static int watched, watch_error;

int __wrap_pause_watch(struct pause_unit *u);
void __wrap_pause_close(struct pause_unit *u);

int __wrap_pause_watch(struct pause_unit *u)
{
	(void)u;
	watched++;
	errno = watch_error;
	return watch_error ? -1 : 0;
}

void __wrap_pause_close(struct pause_unit *u)
{
	(void)u;
}

/* A job whose only cgroup is frozen as a whole. */
static struct job *frozen_job(uint32_t id)
{
	struct job *j = add_job(id, 1, COUNTER_PERF);

	j->freezer = calloc(1, sizeof(*j->freezer));
	assert_non_null(j->freezer);
	j->freezer[0] = (struct freezer){.path = strdup("/cgroup")};
	j->freezers = 1;
	j->newest_ns = now - 60 * S;
	return j;
}

/* Seconds with blocks of this degradation for each job. */
static void live(int seconds, double degradation)
{
	for (int i = 0; i < seconds; i++) {
		now += S;
		for (struct job *j = js.first; j; j = j->next) {
			struct est_block b = noisy_block(1 - degradation, 1, 0.02);

			b.start_ns = (uint64_t)now;
			tally_block(j->tally, &b);
			jobs_turns_block(&js, j, &b);
		}
		jobs_turns_look(&js);
		jobs_update(&js);
	}
}

static int begin(void **state)
{
	make_table(state);
	watched = watch_error = 0;
	turned = (struct shutter_turned){.jobs = 0};
	settings.turns = TURNS_YES;
	js.changed = true;
	return 0;
}

static void a_bad_pair_takes_turns(void **state)
{
	struct job *a = frozen_job(1), *b = frozen_job(2);

	(void)state;
	live(20, 0.8);
	assert_false(js.turns.on);
	live(40, 0.8);
	assert_true(js.turns.on && js.turning);
	assert_int_equal(watched, 2);
	assert_non_null(strstr(logged, "jobs 1, 2 take turns of 0.5 s"));
	assert_int_equal(published->turn_ns, settings.turn_ns);
	/* Blocks come close together, and none is long: there is little time for them. */
	assert_int_equal(published->schedule.period_ns, settings.turn_ns / 8);
	assert_int_equal(published->beyond, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(published->schedule.job[i].long_gap_ns, 0);
		assert_int_equal(published->schedule.job[i].level, 0);
	}
	/* What slices take is the jobs'. */
	turned = (struct shutter_turned){.jobs = 2,
		.job = {{1, 0, 3 * S, 4 * S}, {2, 0, 4 * S, 3 * S}},
		.slices = 14,
		.disturbed = 1};
	live(8, 0.8);
	assert_int_equal(a->tally->turned_ns, 3 * S);
	assert_int_equal(b->tally->own_turns_ns, 3 * S);
	assert_int_equal(js.slices, 14);
	assert_int_equal(js.slices_disturbed, 1);
	/* They suit each other now. */
	published->turned = (struct shutter_turned){.jobs = 1, .job = {{2, 0, S, 0}}};
	live(20, 0.2);
	assert_false(js.turns.on || js.turning);
	assert_int_equal(published->turn_ns, 0);
	assert_int_equal(b->tally->turned_ns, 5 * S);
	assert_non_null(strstr(logged, "jobs 1, 2 run side by side again"));
}

static void others_do_not(void **state)
{
	(void)state;
	frozen_job(1);
	frozen_job(2);
	live(600, 0.4);
	assert_false(js.turns.on);
	settings.turns = 0;
	live(100, 0.8);
	assert_false(js.turns.on);
	assert_int_equal(watched, 0);
}

/* Each of these keeps a pair from turns, and ends them. */
static void who_takes_none(void **state)
{
	(void)state;
	for (int what = 0; what < 12; what++) {
		struct job *a, *b, *c = NULL;

		drop_table(state);
		begin(state);
		a = frozen_job(1);
		b = frozen_job(2);
		settings.pause = what == 0 ? PAUSE_FREEZER : PAUSE_AUTO;
		live(60, 0.8);
		assert_true(js.turning);
		switch (what) {
		case 0: /* stopped by signals */
			free(a->freezer[0].path);
			a->freezers = 0;
			break;
		case 1:
			b->spoilt = 3;
			break;
		case 2:
			a->ran_share = 0.5;
			break;
		case 3:
			a->told_ran = true;
			break;
		case 4:
			b->state = JOB_PARTLY_STOPPED;
			break;
		case 5:
			a->pausable = false;
			break;
		case 6:
			a->tally->spin_result.verdict = SPIN_UNEVEN;
			break;
		case 7: /* a new step */
			b->newest_ns = now;
			break;
		case 8: /* a job that is being started */
			c = add_job(3, 0, COUNTER_NONE);
			c->state = JOB_WAITING;
			break;
		case 9:
			c = frozen_job(4);
			break;
		case 10:
			js.allowed = false;
			break;
		case 11:
			for (int i = 0; i < 40; i++) {
				struct est_block e = noisy_block(1, 1.5, 0.01);

				tally_sham(a->tally, &e);
			}
			assert_true(tally_senses(a->tally));
			break;
		}
		js.changed = true;
		jobs_update(&js);
		jobs_turns_look(&js);
		jobs_update(&js);
		if (js.turns.on || js.turning)
			fail_msg("%d takes turns", what);
		live(40, 0.8);
		assert_false(js.turns.on);
	}
}

/* Where signals stop a job, it is frozen as a whole before it takes turns. */
static void frozen_first(void **state)
{
	struct job *a = frozen_job(1), *b = add_job(2, 1, COUNTER_PERF);

	(void)state;
	a->newest_ns = b->newest_ns = now - 60 * S;
	live(25, 0.8);
	assert_true(b->way.whole && !a->way.whole);
	live(60, 0.8);
	/* No scan has found how. */
	assert_false(js.turns.on);
	b->freezer = calloc(1, sizeof(*b->freezer));
	b->freezer[0] = (struct freezer){.path = strdup("/cgroup")};
	b->freezers = 1;
	live(40, 0.8);
	assert_true(js.turning);
}

static void unwatched_freezers_hold_nobody(void **state)
{
	(void)state;
	frozen_job(1);
	frozen_job(2);
	watch_error = EMFILE;
	live(60, 0.8);
	assert_false(js.turning);
	assert_int_equal(published->turn_ns, 0);
	assert_non_null(strstr(logged, "no turns: cannot watch"));
}

/* Also where another job has come, or the last one has gone. */
static void the_end_is_told(void **state)
{
	(void)state;
	frozen_job(1);
	frozen_job(2);
	live(60, 0.8);
	assert_true(js.turning);
	frozen_job(3);
	live(2, 0.8);
	assert_false(js.turning);
	assert_non_null(strstr(logged, "run side by side again"));
}

/* Who loses more than its max-degradation is alone for a part of the slices, without
 * poppa_turns=yes; its co-runner is held, also where that one cannot be trusted. */
static void a_limit_is_kept(void **state)
{
	struct job *a = frozen_job(1), *b = frozen_job(2);

	(void)state;
	settings.turns = TURNS_LIMITS;
	b->uncounted = true;
	a->reg.max_degradation = 0.5;
	live(60, 0.4);
	assert_false(js.turning);
	a->reg.max_degradation = 0.2;
	live(20, 0.4);
	assert_true(js.turning && !js.turns.on);
	assert_int_equal(js.favoured, 1);
	assert_int_equal(published->job[published->alone_job].job_id, 1);
	assert_in_range(published->alone_slices, 33, 40);
	assert_non_null(strstr(logged, "job 1 loses more than its max-degradation of 20 %"));
	live(40, 0.1);
	assert_false(js.turning);
	assert_non_null(strstr(logged, "job 1 runs side by side again"));
	/* Whoever cannot be held is not, and that is told. */
	b->told_ran = true;
	live(40, 0.4);
	assert_false(js.turning);
	assert_non_null(strstr(logged, "cannot be held for it"));
	/* Nor is anybody for who may be lying. */
	b->told_ran = false;
	a->spoilt = 10;
	live(40, 0.4);
	assert_false(js.turning);
	a->spoilt = 0;
	live(40, 0.4);
	assert_true(js.turning);
	settings.turns = TURNS_NO;
	live(2, 0.4);
	assert_false(js.turning);
}

/* Some shutters are spoilt by chance in a long run. */
static void few_spoilt_shutters_do_not_matter(void **state)
{
	struct job *a = frozen_job(1), *b = frozen_job(2);

	(void)state;
	settings.turns = TURNS_LIMITS;
	a->reg.max_degradation = 0.2;
	a->spoilt = b->spoilt = 5;
	a->still = b->still = 79;
	live(20, 0.4);
	assert_false(js.turning);
	a->still = 80;
	live(2, 0.4);
	assert_false(js.turning);
	b->still = 80;
	live(2, 0.4);
	assert_true(js.turning);
}

/* A record says that a limit is not kept, after that has been so for a while, and is sent at once.
 */
static void a_record_tells_of_it(void **state)
{
	struct job *a = frozen_job(1), *b = frozen_job(2);
	struct ledger_record r;

	(void)state;
	settings.turns = TURNS_LIMITS;
	a->reg.max_degradation = 0.05;
	a->next_interim = now + 1000 * S;
	live(20, 0.4);
	assert_true(js.turning);
	jobs_record(&js, a, false, &r);
	assert_false(r.unkept);
	live(20, 0.4);
	jobs_record(&js, a, false, &r);
	assert_true(r.unkept);
	assert_true(a->next_interim <= now);
	jobs_record(&js, b, false, &r);
	assert_false(r.unkept);
	/* It can be kept now; then nothing is held. */
	a->reg.max_degradation = 0.2;
	live(40, 0.4);
	jobs_record(&js, a, false, &r);
	assert_false(r.unkept);
	settings.turns = TURNS_NO;
	live(20, 0.4);
	assert_false(js.turning);
	jobs_record(&js, a, false, &r);
	assert_true(r.unkept);
	/* Who may be lying is not believed. */
	a->spoilt = 10;
	live(20, 0.4);
	jobs_record(&js, a, false, &r);
	assert_false(r.unkept);
	/* What was decided does not come about. */
	a->spoilt = 0;
	settings.turns = TURNS_LIMITS;
	watch_error = EMFILE;
	live(40, 0.4);
	assert_false(js.turning);
	jobs_record(&js, a, false, &r);
	assert_true(r.unkept);
	/* The co-runner has gone. */
	jobs_drop(&js, b);
	live(2, 0);
	jobs_record(&js, a, false, &r);
	assert_false(r.unkept);
}

/* Who starts tasks for ever is held after a while all the same; so is one beside a job that never
 * starts any. */
static void starting_for_ever(void **state)
{
	struct job *a = frozen_job(1), *b = frozen_job(2), *c;
	int held = 0;

	(void)state;
	settings.turns = TURNS_LIMITS;
	a->reg.max_degradation = 0.2;
	b->newest_ns = now + S;
	live(11, 0.4);
	assert_false(js.turning);
	for (int s = 0; s < 600; s++) {
		if (s % 11 == 0)
			b->newest_ns = now + S;
		live(1, 0.4);
		held += js.turning;
	}
	print_message("# held for %d s of 600\n", held);
	assert_in_range(held, 500, 590);
	/* Having been calm, it is left alone again. */
	live(1200, 0.4);
	assert_true(js.turning);
	b->newest_ns = now + S;
	live(2, 0.4);
	assert_false(js.turning);
	live(20, 0.4);
	assert_true(js.turning);
	c = add_job(3, 0, COUNTER_NONE);
	c->state = JOB_WAITING;
	live(30, 0.4);
	assert_false(js.turning);
	live(60, 0.4);
	assert_true(js.turning);
}

/* A job that keeps one of its tasks stopped, or traced, is held after a while all the same. */
static void partly_stopped_for_ever(void **state)
{
	struct job *a = frozen_job(1), *b = frozen_job(2);

	(void)state;
	settings.turns = TURNS_LIMITS;
	a->reg.max_degradation = 0.2;
	b->state = JOB_PARTLY_STOPPED;
	live(50, 0.4);
	assert_false(js.turning);
	live(30, 0.4);
	assert_true(js.turning);
	/* But nobody is held for it. */
	b->reg.max_degradation = 0.1;
	a->reg.max_degradation = 0;
	live(40, 0.4);
	assert_false(js.turning);
	b->state = JOB_RUNNING;
	live(2, 0.4);
	assert_true(js.turning);
	assert_int_equal(js.favoured, 2);
}

/* A third job that stops all its tasks now and then makes nobody begin anew, and whoever has
 * slices keeps them though the table has other places then. */
static void one_that_comes_and_goes(void **state)
{
	struct job *c = frozen_job(1), *a = frozen_job(2), *b = frozen_job(3);
	int held = 0, told = 0;

	(void)state;
	settings.turns = TURNS_LIMITS;
	a->reg.max_degradation = 0.2;
	b->reg.max_degradation = 0.9;
	for (int s = 0; s < 300; s++) {
		c->state = s % 5 ? JOB_RUNNING : JOB_STOPPED;
		js.changed = true;
		live(1, 0.4);
		if (js.turning)
			assert_int_equal(js.favoured, 2);
		held += js.turning;
	}
	print_message("# slices in %d s of 300\n", held);
	assert_true(held > 250);
	/* The one that has them leaves, and comes back; the log has that once a minute. */
	for (int s = 0; s < 10; s++) {
		a->state = s % 2 ? JOB_RUNNING : JOB_STOPPED;
		js.changed = true;
		live(1, 0.4);
		assert_int_equal(js.turning, s % 2);
	}
	for (const char *at = logged; (at = strstr(at, "it runs alone")); at++)
		told++;
	assert_int_equal(told, 2);
	/* It has ended: the others begin anew. */
	c->seen = false;
	c->state = JOB_STOPPED;
	live(5, 0.4);
	assert_int_equal(a->turns_blocks.count, 5);
}

#define TURNS_TEST(f) cmocka_unit_test_setup_teardown(f, begin, drop_table)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TURNS_TEST(a_bad_pair_takes_turns),
		TURNS_TEST(others_do_not),
		TURNS_TEST(who_takes_none),
		TURNS_TEST(frozen_first),
		TURNS_TEST(unwatched_freezers_hold_nobody),
		TURNS_TEST(the_end_is_told),
		TURNS_TEST(a_limit_is_kept),
		TURNS_TEST(few_spoilt_shutters_do_not_matter),
		TURNS_TEST(a_record_tells_of_it),
		TURNS_TEST(starting_for_ever),
		TURNS_TEST(partly_stopped_for_ever),
		TURNS_TEST(one_that_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
