/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_block.c: what each job gets of a finished block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "unit/poppa/node/jobs_fixture.h"
#include "unit/poppa/waiting_process.h"

#define WINDOWS 4
#define BEYOND 5 /* windows of a long block: 23 shutters */

static struct shutter_plan *taken;
static int done;

bool __wrap_counter_has_cycles(const struct counter *c);
bool __wrap_counter_has_cycles(const struct counter *c)
{
	(void)c;
	return false;
}

bool __wrap_counter_has_misses(const struct counter *c);
bool __wrap_counter_has_misses(const struct counter *c)
{
	return c->misses;
}

struct shutter_plan *__wrap_shutter_take(struct shutter *s);
struct shutter_plan *__wrap_shutter_take(struct shutter *s)
{
	(void)s;
	return taken;
}

void __wrap_shutter_done(struct shutter *s);
void __wrap_shutter_done(struct shutter *s)
{
	(void)s;
	done++;
}

/* A complete block of jobs 1 and 2, of which the first makes 100 of progress in each window while
 * the other one is held, and else 50. */
static struct shutter_plan *block(enum shutter_outcome outcome, enum shutter_kind kind)
{
	static struct counter counter[2];
	struct shutter_plan *p = shutter_plan_new(2, 0, WINDOWS, BEYOND);
	uint64_t progress = 0;

	assert_non_null(p);
	p->shutter_ns = 3200 * NS_PER_US;
	p->outcome = outcome;
	p->kind = kind;
	p->jobs = p->schedule.jobs = 2;
	p->paused_ns[1] = 3 * NS_PER_MS;
	p->stop_ns = p->still_ns = 3 * NS_PER_MS;
	p->by = -1;
	for (int i = 0; i < 2; i++) {
		p->job[i] = (struct shutter_job){.job_id = i + 1, .first_task = i, .tasks = 1};
		p->task[i] = (struct shutter_task){.counter = &counter[i], .pid = 1000000000};
	}
	for (int r = 0; r < SHUTTER_REGIONS; r++) {
		p->boundaries[r] = WINDOWS + 1;
		for (int k = 0; k <= WINDOWS; k++) {
			int64_t at = now + (r * WINDOWS + k) * p->shutter_ns / WINDOWS;

			for (int i = 0; i < 2; i++) {
				shutter_plan_when(p, r, k)[i] = at;
				shutter_plan_samples(p, r, k)[i].progress = progress;
			}
			if (k < WINDOWS)
				progress += r == SHUTTER_DURING ? 100 : 50;
		}
	}
	return p;
}

static void take(enum shutter_outcome outcome, enum shutter_kind kind)
{
	struct shutter_plan *p = block(outcome, kind);

	jobs_take_block(&js, p);
	shutter_plan_free(p);
}

static uint64_t blocks_of(const struct job *j)
{
	struct est_result r;

	tally_result(j->tally, ESTIMATE_THESIS, 1, &r);
	return r.blocks;
}

static void the_lone_job_gets_it(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);

	(void)state;
	take(SHUTTER_OK, SHUTTER_LONE);
	assert_int_equal(blocks_of(a), 1);
	assert_int_equal(blocks_of(b), 0);
	assert_int_equal(a->tally->paused_ns, 0);
	assert_int_equal(b->tally->paused_ns, 3 * NS_PER_MS);
	assert_int_equal(js.paused_ns, 3 * NS_PER_MS);
	assert_int_equal(js.longest_stop_ns, 3 * NS_PER_MS);
	assert_int_equal(js.blocks, 1);
	assert_int_equal(js.outcome[SHUTTER_OK], 1);
	assert_int_equal(js.windows, SHUTTER_REGIONS * WINDOWS);
	assert_int_equal(js.shams + js.absences, 0);
}

/* A complete long block, in which the first job goes on to gain while the other one is held. */
static struct shutter_plan *long_block(void)
{
	struct shutter_plan *p = block(SHUTTER_OK, SHUTTER_LONE);
	int64_t at = shutter_plan_when(p, SHUTTER_DURING, WINDOWS)[0];
	uint64_t progress = shutter_plan_samples(p, SHUTTER_DURING, WINDOWS)[0].progress;

	p->long_windows = BEYOND;
	p->boundaries[SHUTTER_AFTER] = 0;
	p->boundaries[SHUTTER_BEYOND] = BEYOND + 1;
	for (int k = 0; k <= BEYOND; k++) {
		int64_t length = (int64_t)est_beyond_ns(k, (double)p->shutter_ns);

		shutter_plan_when(p, SHUTTER_BEYOND, k)[0] = at;
		shutter_plan_samples(p, SHUTTER_BEYOND, k)[0].progress = progress;
		at += length;
		progress += (uint64_t)(104 * WINDOWS * length / p->shutter_ns);
	}
	return p;
}

/* Gives the block of a job whose CPI is 0.8 + 150 x: twice the misses while it is not alone. */
static void add_misses(struct shutter_plan *p, int number)
{
	uint64_t instructions = 0, cycles = 0, misses = 0;

	for (int r = 0; r < SHUTTER_REGIONS; r++) {
		double x = (r == SHUTTER_DURING ? 0.002 : 0.004) + 0.0001 * (number % 7);

		for (int k = 0; k <= WINDOWS; k++) {
			shutter_plan_samples(p, r, k)[0] =
				(struct counter_sample){instructions, cycles, misses, false};
			instructions += 1000000;
			cycles += (uint64_t)(1e6 * (0.8 + 150 * x));
			misses += (uint64_t)(1e6 * x);
		}
	}
}

/* The record of job 1 after so many such blocks; counted: its misses are. */
static json_t *record_after(int blocks, bool counted, struct ledger_record *r)
{
	struct job *a = add_job(1, 1, COUNTER_PERF);
	json_t *json;

	add_job(2, 1, COUNTER_PERF);
	for (int i = 0; i < blocks; i++) {
		struct shutter_plan *p = block(SHUTTER_OK, SHUTTER_LONE);

		p->task[0].counter->misses = counted;
		add_misses(p, i);
		jobs_take_block(&js, p);
		p->task[0].counter->misses = false;
		shutter_plan_free(p);
	}
	tally_record(a->tally, &settings, "c", "n1", true, 1700000100, r);
	while (js.first)
		jobs_drop(&js, js.first);
	json = record_to_json(r);
	assert_non_null(json);
	return json;
}

/* A job's misses become the line of its record; without their counter, nothing else changes. */
static void misses_become_a_line(void **state)
{
	struct ledger_record r;
	json_t *with, *without;

	(void)state;
	json_decref(record_after(29, true, &r));
	assert_false(r.miss_known);
	with = record_after(40, true, &r);
	assert_true(r.miss_known);
	assert_float_equal(r.miss_line[0], 0.8, 0.01);
	assert_float_equal(r.miss_line[1], 150, 1);
	assert_int_equal(r.miss_blocks, 40);
	without = record_after(40, false, &r);
	assert_false(r.miss_known);
	assert_int_equal(r.miss_blocks, 0);
	assert_int_equal(json_object_del(with, "miss_line"), 0);
	assert_int_equal(json_object_del(with, "miss_blocks"), 0);
	assert_true(json_equal(with, without));
	json_decref(with);
	json_decref(without);
}

/* What poppa estimate makes of a log; with: by the priors in it. */
struct reading {
	struct estimator *e;
	bool with;
};

static void read_prior(uint32_t job, const struct slow_prior *prior, void *arg)
{
	struct reading *r = arg;

	assert_int_equal(job, 1);
	assert_null(r->e);
	r->e = estimator_new(ESTIMATE_ROBUST, r->with ? prior : NULL);
}

static int read_block(uint32_t job, uint64_t number, const struct est_block *b, void *arg)
{
	struct reading *r = arg;

	(void)number;
	assert_int_equal(job, 1);
	estimator_add(r->e, b);
	return 0;
}

/* From the shutter log follows exactly what poppad has found, also where other jobs have taught it
 * another prior. */
static void the_log_says_the_same(void **state)
{
	static const struct slow_prior prior = {{0.05, 0.2, 0.75}};
	char path[] = "/tmp/test_jobs_block.XXXXXX";
	struct job *a = add_job(1, 1, COUNTER_PERF);
	struct est_result live, logged_result[2];
	struct shutterlog_writer *w;
	struct errmsg err = {""};
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	w = shutterlog_open(path, &err);
	assert_non_null(w);
	add_job(2, 1, COUNTER_PERF);
	tally_free(a->tally);
	a->tally = tally_new(1, 0, 1001, 1700000000, now, &prior);
	assert_non_null(a->tally);
	js.env.log = &w;
	for (int i = 0; i < 40; i++) {
		struct shutter_plan *p = i == 30 ? long_block() : block(SHUTTER_OK, SHUTTER_LONE);

		p->block = (uint64_t)i;
		p->whole = true;
		jobs_take_block(&js, p);
		shutter_plan_free(p);
		now += 400 * NS_PER_MS;
	}
	assert_int_equal(shutterlog_flush(w, &err), 0);
	shutterlog_close(w);
	estimator_result(a->tally->robust, &live);
	assert_int_equal(live.used, 40);
	for (int with = 0; with < 2; with++) {
		struct reading r = {.with = with};
		struct shutterlog_count count;
		FILE *in = fopen(path, "r");

		assert_non_null(in);
		assert_int_equal(
			shutterlog_read(in, path, read_block, read_prior, NULL, &r, &count, &err),
			0);
		fclose(in);
		estimator_result(r.e, &logged_result[with]);
		estimator_free(r.e);
	}
	unlink(path);
	assert_memory_equal(&logged_result[1], &live, offsetof(struct est_result, bursts));
	assert_int_equal(logged_result[1].bursts, live.bursts);
	assert_true(fabs(logged_result[0].degradation - live.degradation) > 1e-4);
}

/* Long blocks have a budget of their own, which each job that is held pays into. They begin when
 * something is known of the job. */
static void long_blocks(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);
	struct shutter_plan *p = block(SHUTTER_OK, SHUTTER_LONE);
	int64_t beyond, all = 0, gap[LONG_CREDIT_FIRST];

	(void)state;
	settings.method = ESTIMATE_ROBUST;
	settings.long_budget = 0.001;
	jobs_permit_long(&js, p);
	assert_int_equal(p->schedule.job[0].long_gap_ns, 0);
	jobs_take_block(&js, p);
	jobs_permit_long(&js, p);
	for (int n = 1; n <= LONG_CREDIT_FIRST; n++) {
		gap[n - 1] = p->schedule.job[0].long_gap_ns;
		assert_true(gap[n - 1] > 0);
		assert_int_equal(p->job[0].beyond, BEYOND);
		beyond = shutter_plan_beyond_ns(p, p->job[0].beyond);
		p->long_windows = p->job[0].beyond;
		p->boundaries[SHUTTER_AFTER] = 0;
		p->paused_ns[1] = p->stop_ns = p->still_ns = p->shutter_ns + beyond;
		jobs_take_block(&js, p);
		jobs_permit_long(&js, p);
		all += beyond;
		assert_int_equal(js.long_blocks, n);
		assert_int_equal(js.long_ns, all);
	}
	assert_int_equal(blocks_of(a), 1 + LONG_CREDIT_FIRST);
	assert_int_equal(b->long_credit.left_ns, 0);
	/* The first ones come soon; the last, for which credit is short, when the budget allows. */
	assert_true(gap[0] <= 2 * NS_PER_S && gap[1] == gap[0]);
	assert_true(gap[2] == gap[0] && gap[3] > 10 * gap[0]);
	/* Job 2 has been held enough. */
	assert_int_equal(p->schedule.job[0].long_gap_ns, 0);
	shutter_plan_free(p);
}

/* The first long blocks come soon after a co-runner has. One that is new each second must not keep
 * them away. */
static void co_runners_that_come_and_go(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);
	struct shutter_plan *p = block(SHUTTER_OK, SHUTTER_LONE);
	const struct schedule_job *s = p->schedule.job;

	(void)state;
	settings.method = ESTIMATE_ROBUST;
	settings.long_budget = 0.001;
	a->reg.registered = clock_wall() / NS_PER_S - 1000;
	b->reg.registered = clock_wall() / NS_PER_S - 1;
	a->long_credit.beside_ns = b->long_credit.beside_ns = NS_PER_S / 2;
	jobs_permit_long(&js, p);
	assert_int_equal(s[0].together_ns, b->reg.registered * NS_PER_S);
	assert_int_equal(s[1].together_ns, b->reg.registered * NS_PER_S);
	a->long_credit.beside_ns = 800 * NS_PER_S;
	jobs_permit_long(&js, p);
	assert_in_range(clock_wall() - s[0].together_ns, 8 * NS_PER_S, 10 * NS_PER_S);
	assert_int_equal(s[1].together_ns, b->reg.registered * NS_PER_S);
	shutter_plan_free(p);
}

static void shams_and_absences(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);

	(void)state;
	take(SHUTTER_OK, SHUTTER_SHAM);
	assert_int_equal(js.shams, 1);
	assert_int_equal(a->tally->sham.blocks, 1);
	assert_int_equal(b->tally->sham.blocks, 0);
	take(SHUTTER_OK, SHUTTER_ABSENT);
	assert_int_equal(js.absences, 1);
	assert_int_equal(blocks_of(a) + blocks_of(b), 0);
	assert_int_equal(js.windows, 0);
}

/* The time for which a job was held counts whatever became of the block; the rest does not. */
static void spoiled_ones_count_for_nothing(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);

	(void)state;
	take(SHUTTER_OVERDUE, SHUTTER_LONE);
	assert_int_equal(blocks_of(a), 0);
	assert_int_equal(b->tally->paused_ns, 3 * NS_PER_MS);
	assert_int_equal(js.outcome[SHUTTER_OVERDUE], 1);
	assert_int_equal(js.blocks, 1);
	assert_non_null(strstr(logged, "the guard resumed"));
}

/* A job may have left the table while its block was open. */
static void a_job_that_is_gone(void **state)
{
	struct job *b = add_job(2, 1, COUNTER_PERF);

	(void)state;
	take(SHUTTER_OK, SHUTTER_LONE);
	take(SHUTTER_OK, SHUTTER_SHAM);
	take(SHUTTER_OK, SHUTTER_ABSENT);
	take(SHUTTER_RAN, SHUTTER_LONE);
	assert_int_equal(js.blocks, 4);
	assert_int_equal(b->tally->paused_ns, 12 * NS_PER_MS);
	assert_int_equal(blocks_of(b), 0);
}

/* A job that runs while it is held spoils the block and pays for the time; the log names it once.
 */
static void who_runs_while_held(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF), *b = add_job(2, 1, COUNTER_PERF);

	(void)state;
	for (int i = 1; i <= 5; i++) {
		struct shutter_plan *p = block(SHUTTER_OK, SHUTTER_LONE);

		logged[0] = '\0';
		p->ran_ns[1] = p->still_ns;
		jobs_take_block(&js, p);
		assert_int_equal(p->outcome, SHUTTER_RAN);
		assert_int_equal(b->ran, i);
		assert_int_equal(strstr(logged, "job 2 of uid 1002 runs while") != NULL, i == 3);
		shutter_plan_free(p);
	}
	assert_int_equal(a->ran, 0);
	assert_int_equal(blocks_of(a), 0);
	assert_int_equal(b->tally->paused_ns, 0);
	assert_int_equal(a->tally->spoilt, 5);
	assert_int_equal(a->tally->culprit, 2);
	assert_int_equal(js.outcome[SHUTTER_RAN], 5);
}

/* Without progress in a region, and with a task that is stopped now, its user has stopped it. */
static void stopped_by_its_user(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF);
	struct shutter_plan *p = block(SHUTTER_OK, SHUTTER_LONE);
	int status;
	pid_t pid = waiting_process();

	(void)state;
	a->task[0].pid = pid;
	for (int k = 0; k <= WINDOWS; k++)
		shutter_plan_samples(p, SHUTTER_AFTER, k)[0].progress = 1000;
	jobs_take_block(&js, p);
	assert_int_equal(p->outcome, SHUTTER_OK); /* it only waited */
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	jobs_take_block(&js, p);
	assert_int_equal(p->outcome, SHUTTER_STOPPED);
	assert_int_equal(js.outcome[SHUTTER_STOPPED], 1);
	assert_int_equal(blocks_of(a), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	shutter_plan_free(p);
}

static void what_is_finished_is_taken(void **state)
{
	struct job *a = add_job(1, 1, COUNTER_PERF);
	enum shutter_outcome outcome;
	bool changed;

	(void)state;
	done = 0;
	assert_false(jobs_take_finished(&js, &outcome, &changed));
	assert_int_equal(done, 0);
	taken = block(SHUTTER_OK, SHUTTER_LONE);
	assert_true(jobs_take_finished(&js, &outcome, &changed));
	assert_int_equal(done, 1);
	assert_int_equal(outcome, SHUTTER_OK);
	assert_false(changed);
	assert_int_equal(blocks_of(a), 1);
	shutter_plan_free(taken);
	taken = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOBS_TEST(misses_become_a_line),
		JOBS_TEST(the_lone_job_gets_it),
		JOBS_TEST(the_log_says_the_same),
		JOBS_TEST(long_blocks),
		JOBS_TEST(co_runners_that_come_and_go),
		JOBS_TEST(shams_and_absences),
		JOBS_TEST(spoiled_ones_count_for_nothing),
		JOBS_TEST(a_job_that_is_gone),
		JOBS_TEST(who_runs_while_held),
		JOBS_TEST(stopped_by_its_user),
		JOBS_TEST(what_is_finished_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
