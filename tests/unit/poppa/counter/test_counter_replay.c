/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the replay backend: a recording gives the same degradation when it is played. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/units.h"
#include "gen/gen.h"
#include "poppa/counter/counter.h"
#include "poppa/estimate/estimator.h"
#include "poppa/hold/proc.h"
#include "poppa/measure/shutter.h"
#include "unit/poppa/waiting_process.h"

#define JOBS 2
#define WINDOWS 4
#define TASK 5000

static char dir[] = "/tmp/replay-XXXXXX", path[64];
static pid_t child[JOBS];

/* --- a recording --- */

static void write_windows(struct shutterlog_writer *w, struct shutter_row *row,
	const struct est_window *window, int n)
{
	for (row->k = 0; row->k < n; row->k++) {
		row->dur_ns = (uint64_t)window[row->k].dur_ns;
		row->progress = isnan(window[row->k].progress) ? 0 : window[row->k].progress;
		row->cycles = (uint64_t)window[row->k].cycles;
		if (!isnan(window[row->k].progress))
			shutterlog_append(w, row);
		row->start_ns += row->dur_ns;
	}
}

/* What shutters of two jobs, 7 and 9, would have written. */
static void record(const struct gen_spec *spec)
{
	struct errmsg err = {""};
	struct shutterlog_writer *w;
	struct est_block b[GEN_MAX_JOBS];
	struct gen *g = gen_new(spec);
	uint64_t number = 0;
	int alone;

	unlink(path);
	w = shutterlog_open(path, &err);
	assert_non_null(w);
	assert_non_null(g);
	for (; gen_next(g, &alone, b); number++) {
		for (int j = 0; j < JOBS; j++) {
			struct shutter_row row = {.block = number,
				.job = 7 + 2 * j,
				.task = TASK,
				.start_ns = b[j].start_ns};

			row.region = SHUTTER_BEFORE;
			write_windows(w, &row, b[j].before, b[j].before_n);
			row.region = SHUTTER_DURING;
			write_windows(w, &row, b[j].during, j == alone ? b[j].during_n : 0);
			row.region = SHUTTER_AFTER;
			write_windows(w, &row, b[j].after, b[j].after_n);
		}
	}
	assert_int_equal(shutterlog_flush(w, &err), 0);
	shutterlog_close(w);
	gen_free(g);
}

/* As "poppa estimate" reads it. */
struct read_log {
	struct estimator *estimator[JOBS];
	struct est_block block[JOBS][4096];
	size_t count[JOBS];
};

static int take(uint32_t job, uint64_t number, const struct est_block *b, void *arg)
{
	struct read_log *r = arg;
	int j = job == 9;

	(void)number;
	assert_true(r->count[j] < 4096);
	r->block[j][r->count[j]++] = *b;
	estimator_add(r->estimator[j], b);
	return 0;
}

static struct read_log *estimate_file(enum estimate_method method)
{
	struct read_log *r = calloc(1, sizeof(*r));
	struct shutterlog_count count;
	struct errmsg err = {""};
	FILE *in = fopen(path, "re");

	assert_non_null(r);
	assert_non_null(in);
	for (int j = 0; j < JOBS; j++)
		r->estimator[j] = estimator_new(method, NULL);
	assert_int_equal(shutterlog_read(in, path, take, NULL, NULL, r, &count, &err), 0);
	fclose(in);
	return r;
}

static void forget(struct read_log *r)
{
	for (int j = 0; j < JOBS; j++)
		estimator_free(r->estimator[j]);
	free(r);
}

static struct est_result result(const struct estimator *e)
{
	struct est_result r;

	estimator_result(e, &r);
	return r;
}

/* --- playing it --- */

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < JOBS; i++) {
		child[i] = waiting_process();
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < JOBS; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	return 0;
}

static void open_counters(struct counter **c)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};

	assert_non_null(conf);
	nodeconf_defaults(conf);
	strcpy(conf->replay_log, path);
	for (int j = 0; j < JOBS; j++) {
		if (counter_open(COUNTER_REPLAY, conf, child[j], &c[j], &err))
			fail_msg("%s", err.text);
		assert_int_equal(counter_kind(c[j]), COUNTER_REPLAY);
		assert_true(counter_has_cycles(c[j]));
	}
	free(conf);
}

static void play_region(struct counter *c, int region, const struct est_window *recorded, int n,
	struct est_window *out)
{
	struct counter_sample from, to;

	counter_region(c, region);
	assert_int_equal(counter_read(c, &from), 0);
	for (int k = 0; k < n; k++, from = to) {
		assert_int_equal(counter_read(c, &to), 0);
		out[k] = (struct est_window){
			.progress = to.missing ? NAN : (double)(to.progress - from.progress),
			.cycles = to.missing ? 0 : (double)(to.cycles - from.cycles),
			.dur_ns = recorded[k].dur_ns};
	}
}

/* With the recorded times nothing at all is different. */
static void a_recording_is_played_exactly(void **state)
{
	struct gen_spec spec;

	(void)state;
	gen_defaults(&spec);
	spec.seed = 5;
	spec.lost = 0.03;
	spec.length_s = 60;
	for (int with_cycles = 0; with_cycles < 2; with_cycles++) {
		spec.cycles = with_cycles;
		record(&spec);
		for (int method = ESTIMATE_ROBUST; method <= ESTIMATE_THESIS; method++) {
			struct read_log *file = estimate_file(method);
			struct counter *c[JOBS];

			open_counters(c);
			for (int j = 0; j < JOBS; j++) {
				struct estimator *e = estimator_new(method, NULL);
				struct est_result want = result(file->estimator[j]), got;

				assert_true(file->count[j] > 100);
				for (size_t i = 0; i < file->count[j]; i++) {
					const struct est_block *r = &file->block[j][i];
					struct est_block b = *r;

					play_region(c[j], SHUTTER_BEFORE, r->before, r->before_n,
						b.before);
					play_region(c[j], SHUTTER_DURING, r->during, r->during_n,
						b.during);
					play_region(
						c[j], SHUTTER_AFTER, r->after, r->after_n, b.after);
					estimator_add(e, &b);
				}
				got = result(e);
				assert_int_equal(got.blocks, want.blocks);
				if (method == ESTIMATE_ROBUST || with_cycles) {
					assert_int_equal(got.used, want.used);
					assert_true(
						fabs(got.degradation - want.degradation) < 1e-9);
				}
				estimator_free(e);
				counter_close(c[j]);
			}
			forget(file);
		}
	}
}

/* --- and by the shutter itself, which stops two real processes for it --- */

static struct shutter_plan *plan_of(struct held_file *held, struct counter **c)
{
	struct shutter_plan *p = shutter_plan_new(JOBS, JOBS, WINDOWS, 0);
	struct proc_stat st;

	assert_non_null(p);
	p->schedule.period_ns = 10 * NS_PER_MS;
	p->schedule.block_ns = 6 * NS_PER_MS;
	p->schedule.spread = SCHEDULE_SPREAD;
	p->schedule.jobs = JOBS;
	p->shutter_ns = 2 * NS_PER_MS;
	p->jobs = JOBS;
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(proc_stat(child[i], &st), 0);
		p->task[i] = (struct shutter_task){.counter = c[i], .pid = child[i]};
		p->unit[i] = (struct shutter_unit){
			.unit = pause_open_process(held, child[i], st.starttime),
			.task = i,
			.process = true};
		assert_non_null(p->unit[i].unit);
		p->job[i] = (struct shutter_job){
			.job_id = i, .first_task = i, .tasks = 1, .first_unit = i, .units = 1};
		p->schedule.job[i] = (struct schedule_job){.measured = true, .seed = {{i, 7}}};
	}
	return p;
}

/* Plays as many blocks as each job has, and estimates from what the shutter made of them. */
static void play(
	struct shutter *s, int notify_fd, const struct read_log *file, struct estimator **e)
{
	struct pollfd wake = {.fd = notify_fd, .events = POLLIN};
	size_t played[JOBS] = {0};

	while (played[0] < file->count[0] || played[1] < file->count[1]) {
		struct shutter_plan *p;
		struct est_block b;

		assert_int_equal(poll(&wake, 1, 20000), 1);
		p = shutter_take(s);
		assert_non_null(p);
		if (p->kind == SHUTTER_LONE && played[p->lone] < file->count[p->lone]) {
			played[p->lone]++;
			shutter_plan_block(p, &b);
			if (p->outcome == SHUTTER_OK)
				estimator_add(e[p->lone], &b);
		}
		shutter_done(s);
	}
}

static void the_shutter_plays_it(void **state)
{
	struct estimator *e[JOBS];
	struct counter *c[JOBS];
	struct guard guard = {0};
	struct shutter *shutter;
	struct held_file *held;
	struct read_log *file;
	struct shutter_plan *p;
	struct errmsg err = {""};
	struct gen_spec spec;
	char name[96];
	int held_fd, notify_fd;

	(void)state;
	gen_defaults(&spec);
	spec.seed = 11;
	spec.phases = 1;
	spec.d_min = 0.3;
	spec.d_max = 0.5;
	spec.late = 0;
	spec.length_s = 30;
	record(&spec);
	file = estimate_file(ESTIMATE_ROBUST);
	snprintf(name, sizeof(name), "%s/held", dir);
	held = held_create(name, &held_fd, &err);
	assert_non_null(held);
	/* Stands in for the guard: alive, and nobody reads its timer. */
	guard.pid = waiting_process();
	guard.pidfd = syscall(SYS_pidfd_open, guard.pid, 0);
	guard.timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	shutter = shutter_start(held, &guard, &notify_fd, &err);
	assert_non_null(shutter);
	open_counters(c);
	for (int j = 0; j < JOBS; j++)
		e[j] = estimator_new(ESTIMATE_ROBUST, NULL);
	shutter_publish(shutter, plan_of(held, c));
	play(shutter, notify_fd, file, e);
	p = shutter_publish(shutter, NULL);
	for (int j = 0; j < JOBS; j++) {
		struct est_result want = result(file->estimator[j]), got = result(e[j]);

		print_message("job %d: D %.4f from the file, %.4f through the shutter (%d of %d "
			      "blocks used)\n",
			j, want.degradation, got.degradation, (int)got.used, (int)got.blocks);
		assert_true(want.degradation > 0.2);
		assert_true(got.blocks > file->count[j] / 2);
		assert_true(fabs(got.degradation - want.degradation) < 0.02);
		pause_close(p->unit[j].unit);
		counter_close(c[j]);
		estimator_free(e[j]);
	}
	shutter_plan_free(p);
	assert_null(shutter_stop(shutter));
	guard_stop(&guard);
	held_unmap(held);
	close(held_fd);
	unlink(name);
	forget(file);
}

static void reasons(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter *c = NULL;
	FILE *f;

	(void)state;
	assert_non_null(conf);
	nodeconf_defaults(conf);
	assert_int_equal(counter_open(COUNTER_REPLAY, conf, child[0], &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "ReplayLog=FILE"));
	strcpy(conf->replay_log, "/nonexistent/log.csv");
	assert_int_equal(counter_open(COUNTER_REPLAY, conf, child[0], &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "/nonexistent/log.csv"));
	assert_false(counter_available(COUNTER_REPLAY, conf, &err));
	strcpy(conf->replay_log, path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("not,a,log\n", f);
	fclose(f);
	assert_int_equal(counter_open(COUNTER_REPLAY, conf, child[0], &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, path));
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(SHUTTERLOG_HEADER "\n", f);
	fclose(f);
	assert_int_equal(counter_open(COUNTER_REPLAY, conf, child[0], &c, &err), -1);
	assert_non_null(strstr(err.text, "no block"));
	/* Nobody gets a recording who has not asked for it. */
	unlink(path);
	if (!counter_open(COUNTER_AUTO, conf, child[0], &c, &err)) {
		assert_int_not_equal(counter_kind(c), COUNTER_REPLAY);
		counter_close(c);
	}
	free(conf);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_recording_is_played_exactly),
		TEST(the_shutter_plays_it),
		TEST(reasons),
	};
	int rc;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/log.csv", dir);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return rc;
}
