/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/shutter_plan.c: what the readings of a block say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "poppa/measure/shutter_plan.h"

#define WINDOWS 4
#define LENGTH 1000 /* ns of a window */
#define BEYOND 3

/* A made-up counter is only asked what it has. */
struct counter {
	bool cycles, misses;
};

bool __wrap_counter_has_cycles(const struct counter *c);
bool __wrap_counter_has_cycles(const struct counter *c)
{
	return c->cycles;
}

bool __wrap_counter_has_misses(const struct counter *c);
bool __wrap_counter_has_misses(const struct counter *c)
{
	return c->misses;
}

static struct counter fake[3] = {{true, true}, {true, true}, {true, true}};

/* Two jobs, of two tasks and of one; task t makes (t + 1) * 100 progress a window. */
static struct shutter_plan *plan(void)
{
	struct shutter_plan *p = shutter_plan_new(3, 0, WINDOWS, BEYOND);

	assert_non_null(p);
	p->shutter_ns = WINDOWS * LENGTH;
	p->jobs = 2;
	p->job[0] = (struct shutter_job){.job_id = 7, .first_task = 0, .tasks = 2};
	p->job[1] = (struct shutter_job){.job_id = 8, .first_task = 2, .tasks = 1};
	p->kind = SHUTTER_LONE;
	for (int t = 0; t < 3; t++)
		p->task[t] = (struct shutter_task){.counter = &fake[t], .pid = 40 + t};
	for (int r = 0; r < SHUTTER_REGIONS; r++) {
		p->boundaries[r] = WINDOWS + 1;
		for (int k = 0; k <= WINDOWS; k++) {
			int n = r * WINDOWS + k;

			for (int j = 0; j < 2; j++)
				shutter_plan_when(p, r, k)[j] = 5000 + n * LENGTH;
			*shutter_plan_own(p, r, k) = n * 60;
			for (int t = 0; t < 3; t++)
				shutter_plan_samples(p, r, k)[t] = (struct counter_sample){
					.progress = (uint64_t)(n * (t + 1) * 100),
					.cycles = (uint64_t)(n * 10),
					.misses = (uint64_t)(n * (t + 1))};
		}
	}
	return p;
}

static void sums_over_the_tasks(void **state)
{
	struct shutter_plan *p = plan();
	struct est_block b;

	(void)state;
	shutter_plan_block(p, &b);
	assert_int_equal(b.start_ns, 5000);
	assert_int_equal(b.before_n, WINDOWS);
	assert_int_equal(b.during_n, WINDOWS);
	assert_int_equal(b.after_n, WINDOWS);
	for (int k = 0; k < WINDOWS; k++) {
		assert_float_equal(b.during[k].progress, 300, 0);
		assert_float_equal(b.during[k].cycles, 20, 0);
		assert_float_equal(b.during[k].dur_ns, LENGTH, 0);
		assert_float_equal(b.during[k].lent_ns, 0, 0);
	}
	shutter_plan_task(p, 1, &b);
	assert_float_equal(b.before[0].progress, 200, 0);
	shutter_plan_block_of(p, 1, &b);
	assert_float_equal(b.before[0].progress, 300, 0);
	assert_float_equal(b.before[0].cycles, 10, 0);
	/* Cycles of some tasks only are none of the job. */
	fake[1].cycles = false;
	shutter_plan_block(p, &b);
	assert_float_equal(b.before[0].cycles, 0, 0);
	fake[1].cycles = true;
	shutter_plan_free(p);
}

static void windows_that_are_not_read(void **state)
{
	struct shutter_plan *p = plan();
	struct est_block b;

	(void)state;
	p->first = 1;
	p->spared = 2;
	shutter_plan_samples(p, SHUTTER_DURING, 3)[1].missing = true;
	assert_int_equal(shutter_plan_windows(p, SHUTTER_BEFORE), WINDOWS);
	assert_int_equal(shutter_plan_windows(p, SHUTTER_AFTER), WINDOWS - 1);
	shutter_plan_block(p, &b);
	assert_true(isnan(b.before[0].progress));
	assert_float_equal(b.before[0].dur_ns, LENGTH, 0);
	assert_false(isnan(b.before[1].progress));
	assert_true(isnan(b.during[2].progress) && !isnan(b.during[3].progress));
	/* The windows on both sides of the reading that is not taken are one. */
	assert_int_equal(b.after_n, WINDOWS - 1);
	assert_float_equal(b.after[1].dur_ns, 2 * LENGTH, 0);
	assert_float_equal(b.after[1].progress, 600, 0);
	assert_float_equal(b.after[2].progress, 300, 0);
	shutter_plan_free(p);
}

static void misses_of_all_tasks(void **state)
{
	struct miss_window w[SHUTTER_MISS_WINDOWS];
	struct shutter_plan *p = plan();

	(void)state;
	assert_int_equal(shutter_plan_misses(p, w), SHUTTER_REGIONS * WINDOWS);
	for (int k = 0; k < SHUTTER_REGIONS * WINDOWS; k++) {
		assert_float_equal(w[k].instructions, 300, 0);
		assert_float_equal(w[k].cycles, 20, 0);
		assert_float_equal(w[k].misses, 3, 0);
	}
	/* What was not read, or not of all tasks, is left out. */
	p->first = 1;
	p->spared = 2;
	shutter_plan_samples(p, SHUTTER_DURING, 3)[1].missing = true;
	shutter_plan_samples(p, SHUTTER_DURING, 2)[2].missing = true;
	p->boundaries[SHUTTER_AFTER] = WINDOWS;
	assert_int_equal(shutter_plan_misses(p, w), 3 + 3 + 2);
	assert_float_equal(w[6].misses, 3, 0);
	assert_float_equal(w[7].misses, 6, 0); /* on both sides of the reading not taken */
	p->lone = 1;
	assert_int_equal(shutter_plan_misses(p, w), 3 + 3 + 2);
	assert_float_equal(w[0].misses, 3, 0);
	p->lone = 0;
	fake[1].misses = false;
	assert_int_equal(shutter_plan_misses(p, w), 0);
	fake[1].misses = true;
	shutter_plan_free(p);
}

static void a_block_that_was_cut_short(void **state)
{
	struct shutter_plan *p = plan();
	struct est_block b;

	(void)state;
	p->boundaries[SHUTTER_DURING] = 3;
	p->boundaries[SHUTTER_AFTER] = 0;
	assert_int_equal(shutter_plan_windows(p, SHUTTER_DURING), 2);
	assert_int_equal(shutter_plan_windows(p, SHUTTER_AFTER), 0);
	shutter_plan_block(p, &b);
	assert_int_equal(b.during_n, 2);
	assert_int_equal(b.after_n, 0);
	shutter_plan_free(p);
}

/* Makes it a block that went on beyond the stop, in windows of 1, 2 and 4 shutters. */
static void make_long(struct shutter_plan *p)
{
	int n = 2 * WINDOWS;

	p->long_windows = BEYOND;
	p->boundaries[SHUTTER_AFTER] = 0;
	p->boundaries[SHUTTER_BEYOND] = BEYOND + 1;
	for (int k = 1; k <= BEYOND; k++) {
		n += WINDOWS << (k - 1);
		for (int j = 0; j < 2; j++)
			shutter_plan_when(p, SHUTTER_BEYOND, k)[j] = 5000 + n * LENGTH;
		*shutter_plan_own(p, SHUTTER_BEYOND, k) = n * 60;
		for (int t = 0; t < 3; t++)
			shutter_plan_samples(p, SHUTTER_BEYOND, k)[t] =
				(struct counter_sample){.progress = (uint64_t)(n * (t + 1) * 100),
					.cycles = (uint64_t)(n * 10)};
	}
}

static void a_long_block(void **state)
{
	struct shutter_plan *p = plan();
	struct est_block b;

	(void)state;
	assert_int_equal(shutter_plan_beyond_ns(p, BEYOND), 7 * WINDOWS * LENGTH);
	assert_int_equal(shutter_plan_windows(p, SHUTTER_BEYOND), 0);
	make_long(p);
	p->displaced = 3;
	assert_int_equal(shutter_plan_windows(p, SHUTTER_BEYOND), BEYOND);
	shutter_plan_block(p, &b);
	assert_int_equal(b.during_n, WINDOWS);
	assert_int_equal(b.beyond_n, BEYOND);
	assert_int_equal(b.after_n, 0);
	for (int k = 0; k < BEYOND; k++) {
		assert_float_equal(b.beyond[k].dur_ns, (WINDOWS << k) * LENGTH, 0);
		assert_float_equal(b.beyond[k].progress, 300 * (WINDOWS << k), 0);
		assert_float_equal(b.beyond[k].lent_ns, 0, 0);
	}
	/* What the region before it lacks, the first window beyond has. */
	p->boundaries[SHUTTER_DURING] = WINDOWS;
	shutter_plan_block(p, &b);
	assert_int_equal(b.during_n, WINDOWS - 1);
	assert_float_equal(b.beyond[0].dur_ns, (WINDOWS + 1) * LENGTH, 0);
	shutter_plan_free(p);
}

static void how_long_a_block_may_be(void **state)
{
	(void)state;
	/* 1 + 2 + 4 + 8 and no other 8 shutters. */
	assert_int_equal(shutter_plan_beyond(1000, 22999), 4);
	assert_int_equal(shutter_plan_beyond(1000, 23000), 5);
	assert_int_equal(shutter_plan_beyond(1000, 999), 0);
	assert_int_equal(shutter_plan_beyond(1000, 0), 0);
	assert_int_equal(shutter_plan_beyond(1000, 1000000), 9);
}

/* The time of the shutter's own thread, over the processors that it took turns on. */
static void lent_time(void **state)
{
	struct shutter_plan *p = plan();
	struct est_block b;

	(void)state;
	p->displaced = 3;
	shutter_plan_block(p, &b);
	for (int k = 0; k < WINDOWS; k++) {
		assert_float_equal(b.before[k].lent_ns, 20, 1e-9);
		assert_float_equal(b.during[k].lent_ns, 0, 0);
		assert_float_equal(b.after[k].lent_ns, 20, 1e-9);
	}
	shutter_plan_free(p);
}

/* A row a task and window; "during" has only the job that ran alone. */
static void log_has_all_rows(void **state)
{
	static const enum shutter_kind kinds[] = {SHUTTER_LONE, SHUTTER_ABSENT, SHUTTER_LONE};
	char path[] = "/tmp/test_shutter_plan.XXXXXX", line[256];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < 3; i++) {
		bool is_long = i == 2;
		struct shutter_plan *p = plan();
		struct errmsg err;
		struct shutterlog_writer *w = shutterlog_open(path, &err);
		int rows = -1, during = 0, beyond = 0;
		FILE *f;

		assert_non_null(w);
		p->kind = kinds[i];
		if (is_long)
			make_long(p);
		shutter_plan_samples(p, SHUTTER_BEFORE, 1)[2].missing = true;
		shutter_plan_log(p, w);
		assert_int_equal(shutterlog_flush(w, &err), 0);
		shutterlog_close(w);
		f = fopen(path, "r");
		assert_non_null(f);
		while (fgets(line, sizeof(line), f)) {
			rows++;
			during += strstr(line, ",during,") != NULL;
			beyond += strstr(line, ",beyond,") != NULL;
			if (strstr(line, ",during,") || strstr(line, ",beyond,"))
				assert_non_null(strstr(line, ",7,"));
		}
		fclose(f);
		assert_int_equal(during, kinds[i] == SHUTTER_LONE ? 2 * WINDOWS : 0);
		assert_int_equal(beyond, is_long ? 2 * BEYOND : 0);
		assert_int_equal(rows, (is_long ? 1 : 2) * 3 * WINDOWS - 1 + during + beyond);
		assert_int_equal(truncate(path, 0), 0);
		shutter_plan_free(p);
	}
	close(fd);
	unlink(path);
}

static void outcomes_have_names(void **state)
{
	(void)state;
	for (int a = 0; a < SHUTTER_OUTCOMES; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(shutter_outcome_name(a), shutter_outcome_name(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_over_the_tasks),
		cmocka_unit_test(windows_that_are_not_read),
		cmocka_unit_test(misses_of_all_tasks),
		cmocka_unit_test(a_block_that_was_cut_short),
		cmocka_unit_test(a_long_block),
		cmocka_unit_test(how_long_a_block_may_be),
		cmocka_unit_test(lent_time),
		cmocka_unit_test(log_has_all_rows),
		cmocka_unit_test(outcomes_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
