/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the queue: small ones whose schedule was computed by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine.h"
#include "sim/policy/policy.h"

#define MOST 8

/* One program, which beside itself makes 0.6 of compact, and alone on a lane 1.2. */
static double speed[] = {0.6}, alone[] = {1.2}, typical[] = {0.6}, inflicted[] = {0.5};
static const struct matrix one = {.count = 1,
	.speed = speed,
	.alone = alone,
	.typical = typical,
	.inflicted = inflicted,
	.most_inflicted = 0.5};

struct job {
	double submit, run, limit;
	int nodes;
};

/* Runs the jobs; start[] and end[] are by job. */
static void play(const char *policy, int nodes, bool conservative, const struct job *job, int count,
	double *start, double *end)
{
	static char class_name[] = "1/a";
	struct work work[MOST];
	struct workload all = {.job = work, .count = count, .classes = 1};
	struct poppa_settings settings;
	struct colocate request[2] = {{.spread = false}};
	struct engine_options o = {.dump = tmpfile()};
	struct errmsg err = {""};
	char line[512];
	struct sim s = {.work = &all,
		.matrix = &one,
		.settings = &settings,
		.cap = 0.1,
		.request = request,
		.conservative = conservative,
		.depth = 100,
		.policy = policy_find(policy),
		.nodes = nodes};

	settings_defaults(&settings);
	for (int i = 0; i < count; i++)
		work[i] = (struct work){.number = i,
			.submit_s = job[i].submit,
			.run_s = job[i].run,
			.limit_s = job[i].limit,
			.nodes = job[i].nodes,
			.class_name = class_name};
	assert_non_null(o.dump);
	assert_int_equal(engine_run(&s, &o, &err), 0);
	assert_int_equal(s.measures.finished, count);
	rewind(o.dump);
	while (fgets(line, sizeof(line), o.dump)) {
		long n;
		double from, to;

		assert_int_equal(sscanf(line, "%*[^,],%ld,%*d,%*f,%lf,%lf", &n, &from, &to), 3);
		start[n] = from;
		end[n] = to;
	}
	fclose(o.dump);
}

static void check(const double *got, const double *wanted, int count)
{
	for (int i = 0; i < count; i++)
		if (fabs(got[i] - wanted[i]) > 0.002)
			fail_msg("job %d: %g in place of %g", i, got[i], wanted[i]);
}

/*
 * Four nodes. Job 0 has three until 100; job 1 wants four, so its place is at 100. Job 2 (one node,
 * 50 s) ends before that and starts at once; job 3 (one node, 200 s) would delay job 1 and waits
 * until that has ended; job 4 fits behind job 2 until 100.
 */
static void test_easy(void **state)
{
	static const struct job job[] = {
		{0, 100, 100, 3}, {1, 10, 10, 4}, {2, 50, 50, 1}, {3, 200, 200, 1}, {4, 40, 40, 1}};
	double start[MOST], end[MOST];

	(void)state;
	play("exclusive", 4, false, job, 5, start, end);
	check(start, (double[]){0, 100, 2, 110, 52}, 5);
	check(end, (double[]){100, 110, 52, 310, 92}, 5);
}

/* What job 1 leaves of its place is free for long jobs: it wants two of four nodes at 100. */
static void test_extra(void **state)
{
	static const struct job job[] = {
		{0, 100, 100, 3}, {1, 10, 10, 2}, {2, 500, 500, 1}, {3, 500, 500, 1}};
	double start[MOST], end[MOST];

	(void)state;
	play("exclusive", 4, false, job, 4, start, end);
	check(start, (double[]){0, 100, 2, 100}, 4);
}

/*
 * Under EASY only the first waiting job has a place, so job 3 delays job 2; under conservative
 * backfill it does not. Two nodes: job 0 has one until 100, job 1 wants both and has them from 100
 * to 110, job 2 wants both from then on. Job 3 (one node, 95 s) ends at 98: no delay in both. Job
 * 4 (60 s) is next: its 60 s do not fit before job 1, so it runs after job 2.
 */
static void test_conservative(void **state)
{
	static const struct job job[] = {
		{0, 100, 100, 1}, {1, 10, 10, 2}, {2, 10, 10, 2}, {3, 95, 95, 1}, {4, 60, 60, 1}};
	double start[MOST], end[MOST];

	(void)state;
	play("exclusive", 2, true, job, 5, start, end);
	check(start, (double[]){0, 100, 110, 3, 120}, 5);
}

/* A limit ends a job that has not made its progress, and an earlier end starts others earlier. */
static void test_early(void **state)
{
	static const struct job job[] = {{0, 20, 100, 2}, {1, 10, 10, 2}};
	double start[MOST], end[MOST];

	(void)state;
	play("exclusive", 2, false, job, 2, start, end);
	check(start, (double[]){0, 20}, 2);
}

/*
 * Two jobs of one node on the lanes of two nodes. Alone for 10 s, the first makes 12 of its 120 s;
 * then both make 0.6: it ends after 180 s more. The second has made 108 of 120 by then, and makes
 * the rest alone in 10 s. No limits, so none is in the way.
 */
static void test_lanes(void **state)
{
	static const struct job job[] = {{0, 120, 0, 1}, {10, 120, 0, 1}};
	double start[MOST], end[MOST];

	(void)state;
	play("random", 2, false, job, 2, start, end);
	check(start, (double[]){0, 10}, 2);
	check(end, (double[]){190, 200}, 2);
}

/* The same with limits that count progress: time as if alone on a lane is 100 s for each, so nobody
 * is ended at a limit of 105; with a wall-clock limit both would be. */
static void test_limits(void **state)
{
	static const struct job job[] = {{0, 120, 105, 1}, {10, 120, 105, 1}};
	double start[MOST], end[MOST];

	(void)state;
	play("random", 2, false, job, 2, start, end);
	check(end, (double[]){190, 200}, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_easy),
		cmocka_unit_test(test_extra), cmocka_unit_test(test_conservative),
		cmocka_unit_test(test_early), cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_limits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
