/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_account.c: as what each job's time counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "common/units.h"
#include "unit/poppa/node/jobs_fixture.h"

/* Lets a second pass in which all is as it is now; what it counts as is in tally->mode. */
static void a_second_passes(void)
{
	jobs_account(&js);
	now += NS_PER_S;
	jobs_account(&js);
}

static void alone_or_together(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b;

	(void)state;
	a_second_passes();
	assert_int_equal(a->tally->mode_ns[TALLY_SOLO], NS_PER_S);
	assert_int_equal(js.co_ns, 0);
	b = add_job(2, 1, COUNTER_PERF);
	a_second_passes();
	assert_int_equal(a->tally->mode_ns[TALLY_CO], NS_PER_S);
	assert_int_equal(b->tally->mode_ns[TALLY_CO], NS_PER_S);
	assert_int_equal(js.co_ns, 2 * NS_PER_S);
	assert_int_equal(a->tally->partner_count, 1);
	assert_int_equal(a->tally->partner[0], 2);
	assert_int_equal(b->tally->partner[0], 1);
	/* A job that is stopped has no time, and is nobody's co-runner. */
	b->state = JOB_STOPPED;
	a_second_passes();
	assert_int_equal(a->tally->mode_ns[TALLY_SOLO], 2 * NS_PER_S);
	assert_int_equal(b->tally->mode, TALLY_ABSENT);
	assert_int_equal(b->tally->mode_ns[TALLY_CO], NS_PER_S);
}

/* What an ended job has left works: nobody is alone, and the bill names that job. */
static void beside_a_leftover(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b;

	(void)state;
	a_second_passes();
	js.left_by = 9;
	a_second_passes();
	assert_int_equal(a->tally->mode_ns[TALLY_SOLO], NS_PER_S);
	assert_int_equal(a->tally->mode_ns[TALLY_UNMEASURED], NS_PER_S);
	assert_int_equal(a->tally->culprit, 9);
	b = add_job(2, 1, COUNTER_PERF);
	a_second_passes();
	assert_int_equal(b->tally->mode_ns[TALLY_UNMEASURED], NS_PER_S);
	/* A shell whose programs come and go is not alone, either. */
	b->state = JOB_WAITING;
	a_second_passes();
	assert_int_equal(b->tally->mode_ns[TALLY_SOLO], 0);
	assert_int_equal(b->tally->mode_ns[TALLY_UNMEASURED], 2 * NS_PER_S);
	b->state = JOB_RUNNING;
	js.left_by = 0;
	a_second_passes();
	assert_int_equal(b->tally->mode_ns[TALLY_CO], NS_PER_S);
}

static void together_without_shutters(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);

	(void)state;
	js.blind = true;
	a_second_passes();
	assert_int_equal(a->tally->mode_ns[TALLY_UNMEASURED], NS_PER_S);
	assert_int_equal(b->tally->mode_ns[TALLY_UNMEASURED], NS_PER_S);
	assert_int_equal(js.co_ns, 0);
}

/* For some seconds the next program of the job may bring a counter. */
static void without_its_counter(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);
	struct counter *lost;

	(void)state;
	a_second_passes();
	lost = a->task[0].counter;
	a->task[0].counter = NULL;
	now += 4 * NS_PER_S;
	jobs_account(&js);
	assert_int_equal(a->tally->mode, TALLY_CO);
	now += 2 * NS_PER_S;
	jobs_account(&js);
	assert_int_equal(a->tally->mode, TALLY_UNMEASURED);
	assert_int_equal(b->tally->mode, TALLY_CO);
	a->task[0].counter = lost;
	jobs_account(&js);
	assert_int_equal(a->tally->mode, TALLY_CO);
	/* A job that never had one still costs the others time that is measured. */
	a->tally->backend = COUNTER_NONE;
	a->task[0].counter->kind = COUNTER_NONE;
	now += 60 * NS_PER_S;
	jobs_account(&js);
	assert_int_equal(a->tally->mode, TALLY_CO);
}

/* A job that stops publishing is held by long blocks all the same: else it would keep all others
 * from having one. */
static void without_its_counter_it_is_held(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);
	struct counter *lost = a->task[0].counter;

	(void)state;
	js.long_length_ns = 100 * NS_PER_MS;
	settings.long_budget = 0.001;
	a_second_passes();
	a->task[0].counter = NULL;
	long_credit_take(&a->long_credit, LONG_CREDIT_FIRST * js.long_length_ns);
	long_credit_take(&b->long_credit, LONG_CREDIT_FIRST * js.long_length_ns);
	for (int s = 0; s < 120; s++)
		a_second_passes();
	assert_int_equal(a->tally->mode, TALLY_UNMEASURED);
	assert_in_range(a->long_credit.left_ns, 100 * NS_PER_MS, 130 * NS_PER_MS);
	assert_int_equal(a->long_credit.left_ns, b->long_credit.left_ns);
	/* Alone it gets none. */
	b->state = JOB_STOPPED;
	a_second_passes();
	b->long_credit.left_ns = 0;
	a_second_passes();
	assert_int_equal(b->long_credit.left_ns, 0);
	a->task[0].counter = lost;
}

/* The bill names the job beside which nobody can be measured. */
static void beside_one_that_is_not_watched(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);

	(void)state;
	b->unwatched = true;
	a_second_passes();
	a_second_passes();
	assert_int_equal(a->tally->mode, TALLY_UNMEASURED);
	assert_int_equal(a->tally->culprit, 2);
	assert_int_equal(b->tally->culprit, 0);
}

/* Nobody knows what a job does of which poppad sees no task. */
static void beside_one_that_is_not_seen(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *shell = add_job(2, 0, COUNTER_NONE);

	(void)state;
	shell->state = JOB_WAITING;
	jobs_account(&js);
	assert_int_equal(a->tally->mode, TALLY_SOLO);
	assert_int_equal(shell->tally->mode, TALLY_UNMEASURED);
	shell->busy = true;
	jobs_account(&js);
	assert_int_equal(a->tally->mode, TALLY_UNMEASURED);
	/* It has left the node, and only its record is not yet stored. */
	shell->seen = false;
	jobs_account(&js);
	assert_int_equal(a->tally->mode, TALLY_SOLO);
	assert_int_equal(shell->tally->mode, TALLY_ABSENT);
	shell->seen = true;
	a->state = JOB_STOPPED;
	jobs_account(&js);
	assert_int_equal(shell->tally->mode, TALLY_SOLO);
}

/* In place, as the kernel changes its file under an open descriptor. */
static void put_usage(int fd, long long ns)
{
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(dprintf(fd, "%-20lld", ns), 20);
}

static int usage_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	put_usage(fd, 5);
	return fd;
}

/* With what tells its processor time. */
static void count_cpu(struct job *j, const struct found_tasks *d)
{
	j->cpu = job_cpu_open();
	assert_int_equal(job_cpu_know(j->cpu, d), 0);
}

/* No shutter sees a job shown task is stopped: it works, rests, and has its
 * task resumed, between two looks at it. */
static void works_while_its_tasks_are_stopped(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);
	int fd = usage_file("job_cpu");

	(void)state;
	count_cpu(b, &(struct found_tasks){.usage = "job_cpu"});
	jobs_account(&js);
	b->state = JOB_STOPPED;
	a_second_passes();
	assert_int_equal(a->tally->mode_ns[TALLY_SOLO], NS_PER_S);
	assert_int_equal(a->tally->culprit, 0);
	for (int i = 1; i <= 3; i++) {
		/* Then it rests, until its task is resumed. */
		now += NS_PER_S / 2;
		put_usage(fd, i * 300000000LL);
		b->state = JOB_RUNNING;
		jobs_account(&js);
		assert_int_equal(a->tally->mode, TALLY_CO);
		b->state = JOB_STOPPED;
		jobs_account(&js);
	}
	assert_int_equal(a->tally->mode_ns[TALLY_SOLO], NS_PER_S);
	assert_int_equal(a->tally->mode_ns[TALLY_UNMEASURED], 3 * NS_PER_S / 2);
	assert_int_equal(a->tally->culprit, 2);
	a_second_passes();
	assert_int_equal(a->tally->mode_ns[TALLY_SOLO], 2 * NS_PER_S);
	close(fd);
	unlink("job_cpu");
}

/* cgroup v1: what a user has moved out of the job is in the file of all that is theirs. Where
 * another job of theirs takes part, it tells nothing. */
static void works_outside_its_cgroups(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);
	int of_job = usage_file("job_cpu"), of_user = usage_file("user_cpu");

	(void)state;
	b->reg.uid = a->reg.uid + 1;
	count_cpu(b, &(struct found_tasks){.usage = "job_cpu", .user_usage = "user_cpu"});
	jobs_account(&js);
	b->state = JOB_STOPPED;
	a_second_passes();
	assert_int_equal(a->tally->mode_ns[TALLY_SOLO], NS_PER_S);
	put_usage(of_user, 900000000LL);
	now += NS_PER_S;
	jobs_account(&js);
	assert_int_equal(a->tally->mode_ns[TALLY_SOLO], NS_PER_S);
	assert_int_equal(a->tally->mode_ns[TALLY_UNMEASURED], NS_PER_S);
	assert_int_equal(a->tally->culprit, 2);
	add_job(3, 1, COUNTER_PERF)->reg.uid = b->reg.uid;
	a_second_passes();
	put_usage(of_user, 1800000000LL);
	now += NS_PER_S;
	jobs_account(&js);
	assert_false(b->worked);
	close(of_job);
	close(of_user);
	unlink("job_cpu");
	unlink("user_cpu");
}

/* Shutters that hold jobs for more than their limit become rarer: the plan is out of date. */
static void cost_is_looked_at(void **state)
{
	(void)state;
	settings.overhead_max = 0.005;
	for (int s = 0; s < 2 * OVERHEAD_WINDOW_S; s++) {
		now += NS_PER_S;
		js.co_ns += 2 * NS_PER_S;
		js.paused_ns += NS_PER_S / 10;
		jobs_look_at_cost(&js);
	}
	assert_true(js.changed);
	assert_int_equal(js.limit.level, 1);
	assert_float_equal(js.limit.held, 0.05, 1e-9);
	assert_true(js.limit.cpu >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOBS_TEST(alone_or_together),
		JOBS_TEST(beside_a_leftover),
		JOBS_TEST(together_without_shutters),
		JOBS_TEST(without_its_counter),
		JOBS_TEST(without_its_counter_it_is_held),
		JOBS_TEST(beside_one_that_is_not_seen),
		JOBS_TEST(beside_one_that_is_not_watched),
		JOBS_TEST(works_while_its_tasks_are_stopped),
		JOBS_TEST(works_outside_its_cgroups),
		JOBS_TEST(cost_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
