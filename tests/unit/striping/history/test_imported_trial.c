/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the file of trials, and of what trials do to a history that was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "striping/history/imported_trial.h"
#include "striping/history/pairs_trials.h"
#include "striping/history/job_names.h"
#include "striping/history/pairs.h"

#define ONE "0123456789abcdef"
#define OTHER "fedcba9876543210"
#define DAY 86400LL
#define WHEN 1700000000LL

static char dir[] = "/tmp/test_trials.XXXXXX", path[64], aside[64];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/" TRIALS_FILE, dir);
	snprintf(aside, sizeof(aside), "%s/aside", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	unlink(aside);
	return rmdir(dir);
}

static struct imported_loss loss_of(
	const char *trial, const char *job, const char *partner, double degradation, double off)
{
	struct imported_loss l = {.degradation = degradation,
		.low = degradation - off,
		.high = degradation + off,
		.imported = WHEN};

	strcpy(l.trial, trial);
	strcpy(l.job, job);
	strcpy(l.partner, partner);
	return l;
}

static void add(struct imported_trials *t, const char *trial, const char *job, const char *partner,
	double degradation, double off)
{
	const struct imported_loss l = loss_of(trial, job, partner, degradation, off);
	struct errmsg err;

	assert_int_equal(imported_trials_add(t, &l, &err), 0);
}

static void write_file(const char *text)
{
	struct errmsg err;

	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
}

static void kept_in_order(void **state)
{
	struct imported_trials *t = imported_trials_new(), *again;
	struct errmsg err;
	struct stat st;
	int bad = -1;

	(void)state;
	add(t, OTHER, "7@a b", "weather", 0.12, 0.02);
	add(t, ONE, "7@x+4n", "8:y", -0.01, 0.03);
	add(t, OTHER, "weather", "7@a b", 1, 0);
	assert_int_equal(imported_trials_save(t, path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	again = imported_trials_load(path, &bad, &err);
	assert_non_null(again);
	assert_int_equal(bad, 0);
	assert_int_equal(imported_trials_count(again), 3);
	assert_null(imported_trials_get(again, 3));
	assert_null(imported_trials_get(again, -1));
	for (int i = 0; i < 3; i++) {
		const struct imported_loss *x = imported_trials_get(t, i),
					   *y = imported_trials_get(again, i);

		assert_string_equal(x->trial, y->trial);
		assert_string_equal(x->job, y->job);
		assert_string_equal(x->partner, y->partner);
		assert_float_equal(x->degradation, y->degradation, 1e-6);
		assert_float_equal(x->low, y->low, 1e-6);
		assert_float_equal(x->high, y->high, 1e-6);
		assert_true(y->imported == WHEN);
	}
	assert_int_equal(imported_trials_forget(again, "none"), 0);
	assert_int_equal(imported_trials_forget(again, OTHER), 2);
	assert_int_equal(imported_trials_count(again), 1);
	assert_string_equal(imported_trials_get(again, 0)->job, "7@x+4n");
	imported_trials_free(t);
	imported_trials_free(again);
	imported_trials_free(NULL);
}

static void no_file(void **state)
{
	struct imported_trials *t;
	struct errmsg err;
	int bad = -1;

	(void)state;
	unlink(path);
	t = imported_trials_load(path, &bad, &err);
	assert_non_null(t);
	assert_int_equal(imported_trials_count(t), 0);
	assert_int_equal(bad, 0);
	imported_trials_free(t);
}

/* Each bad line is passed over alone, and the others count. */
static void bad_lines(void **state)
{
	static const char *const bad_line[] = {ONE, ONE "\ta\tb\t0.1\t0\t0.2",
		ONE "\ta\tb\t0.1\t0\t0.2\t5\t6", "0123\ta\tb\t0.1\t0\t0.2\t5",
		ONE "0\ta\tb\t0.1\t0\t0.2\t5", "0123456789ABCDEF\ta\tb\t0.1\t0\t0.2\t5",
		ONE "\t\tb\t0.1\t0\t0.2\t5", ONE "\ta\t#b\t0.1\t0\t0.2\t5",
		ONE "\ta\tb\tnan\t0\t0.2\t5", ONE "\ta\tb\t0.3\t0\t0.2\t5",
		ONE "\ta\tb\t-0.1\t0\t0.2\t5", ONE "\ta\tb\t0.1\t0\t2\t5",
		ONE "\ta\tb\t0.1\t0\t0.2\tsoon"};
	char text[4096] = "#a comment\n\n", longer[PAIRS_CLASS_MAX + 1];
	struct imported_trials *t;
	struct errmsg err;
	int bad = -1, count = sizeof(bad_line) / sizeof(*bad_line);

	(void)state;
	for (int i = 0; i < count; i++)
		sprintf(text + strlen(text), "%s\n" OTHER "\ta\tb\t0.1\t0\t0.2\t%d\n", bad_line[i],
			i);
	memset(longer, 'x', PAIRS_CLASS_MAX);
	longer[PAIRS_CLASS_MAX] = '\0';
	sprintf(text + strlen(text), ONE "\ta\t%s\t0.1\t0\t0.2\t5\n", longer);
	write_file(text);
	t = imported_trials_load(path, &bad, &err);
	assert_non_null(t);
	assert_int_equal(bad, count + 1);
	assert_int_equal(imported_trials_count(t), count);
	assert_true(imported_trials_get(t, count - 1)->imported == count - 1);
	imported_trials_free(t);
	/* What follows a zero byte. */
	assert_int_equal(fsio_write(path, "#\n\0\n", 4, 0600, 0, &err), 0);
	t = imported_trials_load(path, &bad, &err);
	assert_int_equal(bad, 1);
	imported_trials_free(t);
	/* A clock that was wrong. */
	write_file(ONE "\ta\tb\t0.1\t0\t0.2\t99999999999\n");
	t = imported_trials_load(path, &bad, &err);
	assert_true(imported_trials_get(t, 0)->imported <= time(NULL));
	imported_trials_free(t);
}

static void so_many(void **state)
{
	struct imported_trials *t = imported_trials_new();
	const struct imported_loss l = loss_of(ONE, "a", "b", 0.1, 0);
	struct errmsg err;
	int bad = -1;
	FILE *f;

	(void)state;
	for (int i = 0; i < TRIALS_MAX; i++)
		add(t, ONE, "a", "b", 0.1, 0.1);
	assert_int_equal(imported_trials_add(t, &l, &err), -1);
	assert_non_null(strstr(err.text, "--forget"));
	assert_int_equal(imported_trials_save(t, path, &err), 0);
	imported_trials_free(t);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs(ONE "\ta\tb\t0.1\t0\t0.2\t5\n", f);
	assert_int_equal(fclose(f), 0);
	t = imported_trials_load(path, &bad, &err);
	assert_int_equal(imported_trials_count(t), TRIALS_MAX);
	assert_int_equal(bad, 1);
	imported_trials_free(t);
	/* A file that would not fit into memory. */
	assert_int_equal(truncate(path, 1LL << 40), 0);
	assert_null(imported_trials_load(path, &bad, &err));
	assert_non_null(strstr(err.text, path));
}

static void assert_refused(const char *why)
{
	struct errmsg err = {""};
	int bad;

	assert_null(imported_trials_load(path, &bad, &err));
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, why));
}

/* Files that somebody else may have written. */
static void a_strangers_file(void **state)
{
	struct errmsg err;

	(void)state;
	write_file("");
	assert_int_equal(chmod(path, 0620), 0);
	assert_refused("chmod it to 600");
	assert_int_equal(chmod(path, 0602), 0);
	assert_refused("chmod it to 600");
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(symlink(aside, path), 0);
	assert_refused("it is a link");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused("no regular file");
	assert_int_equal(unlink(path), 0);
	write_file("");
	if (geteuid())
		return;
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_refused("belongs to uid 65534");
	/* As the owner of the folder may, whom root trusts with it. */
	assert_int_equal(chown(dir, 65534, 65534), 0);
	imported_trials_free(imported_trials_load(path, NULL, &err));
	assert_int_equal(chown(dir, 0, 0), 0);
}

static double seconds(double degradation, double off)
{
	const struct imported_loss l = loss_of(ONE, "a", "b", degradation, off);

	return imported_loss_seconds(&l);
}

/* A run of so long has that error: 1e-3 is the variance of -log(1 - D) after a minute. */
static void seconds_by_the_interval(void **state)
{
	const double minute = 1.96 * sqrt(1e-3);

	(void)state;
	assert_float_equal(seconds(0, minute), 60, 0.5);
	assert_float_equal(seconds(0, minute / 2), 240, 2);
	/* Half the speed, and so twice the error of its logarithm. */
	assert_float_equal(seconds(0.5, minute / 2), 60, 0.5);
	assert_float_equal(seconds(0.2, 0), TRIAL_MOST_S, 1e-9);
	assert_float_equal(seconds(0.2, 1e-6), TRIAL_MOST_S, 1e-9);
	assert_true(seconds(0, 1) > 0 && seconds(0, 1) < 2);
	assert_float_equal(seconds(1, 0), TRIAL_MOST_S, 1e-9);
}

static struct pairs_row row_of(const struct pairs *p, const char *job, const char *partner);

static void of_a_new_pair(void **state)
{
	struct imported_trials *t = imported_trials_new();
	struct pairs *p = pairs_new();
	struct pairs_row row;
	struct errmsg err;
	double d, low, high;

	(void)state;
	add(t, ONE, "7@a", "8@b", 0.25, 0.001);
	assert_int_equal(pairs_add_trials(p, t), 0);
	assert_true(pairs_expect(p, "7@a", "8@b", &d));
	assert_float_equal(d, 0.25, 1e-9);
	/* Of a variant it tells what it tells of the class. */
	assert_true(pairs_expect(p, "7@a+4n", "8@b+2n", &d));
	assert_false(pairs_expect(p, "8@b", "7@a", &d));
	assert_false(pairs_certain(p, "7@a", "8@b", &low, &high));
	assert_float_equal(pairs_mean(p), 0.25, 1e-9);
	row = row_of(p, "7@a", "8@b");
	assert_int_equal(row.runs, 0);
	assert_int_equal(row.trials, 1);
	assert_float_equal(row.seconds, TRIAL_MOST_S, 1e-9);
	assert_float_equal(row.trial_seconds, TRIAL_MOST_S, 1e-9);
	assert_float_equal(imported_trials_get(t, 0)->weight, TRIAL_MOST_S, 1e-9);
	/* It must not get into the history's file, or the next reader would add it once more. */
	assert_int_equal(pairs_save(p, path, &err), -1);
	pairs_free(p);
	imported_trials_free(t);
}

static struct pairs_row found;
static const char *wanted[2];

static void look(const struct pairs_row *row, void *arg)
{
	(void)arg;
	if (!strcmp(row->job, wanted[0]) && !strcmp(row->partner, wanted[1]))
		found = *row;
}

static struct pairs_row row_of(const struct pairs *p, const char *job, const char *partner)
{
	found = (struct pairs_row){.job = NULL};
	wanted[0] = job;
	wanted[1] = partner;
	pairs_each(p, look, NULL);
	return found;
}

/* The mean after a run at `ran` and a trial at WHEN. */
static double mean_with(long long ran, double run_seconds)
{
	struct imported_trials *t = imported_trials_new();
	struct pairs *p = pairs_new();
	double d;

	add(t, ONE, "a", "b", 0.1, 0.001);
	assert_int_equal(pairs_learn(p, "a", "b", 0.4, run_seconds, ran), 0);
	assert_int_equal(pairs_add_trials(p, t), 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	pairs_free(p);
	imported_trials_free(t);
	return d;
}

/* Runs weigh in as ever, before the trial and after it; the more they have shown, the less it
 * counts. */
static void beside_runs(void **state)
{
	(void)state;
	assert_float_equal(mean_with(WHEN, 600), 0.25, 1e-9);
	assert_float_equal(mean_with(WHEN - 1, 600), 0.25, 1e-6);
	assert_float_equal(mean_with(WHEN + 1, 600), 0.25, 0.003);
	/* Half of it after 30 days, and half of the run 30 days before it. */
	assert_float_equal(mean_with(WHEN + 30 * DAY, 600), 0.3, 0.002);
	assert_float_equal(mean_with(WHEN - 30 * DAY, 600), 0.2, 1e-6);
	assert_float_equal(mean_with(WHEN + 1000, 36000), 0.4, 1e-9);
}

/* Where three runs or more say otherwise, the trial does not count, and it makes nothing certain
 * uncertain. */
static void against_runs(void **state)
{
	struct imported_trials *t = imported_trials_new();
	struct pairs *p = pairs_new();
	double d, low, high;

	(void)state;
	add(t, ONE, "a", "b", 0.1, 0.001);
	add(t, OTHER, "a", "c", 0.38, 0.001);
	imported_trials_get(t, 1)->imported = WHEN + 1000 * DAY;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pairs_learn(p, "a", "b", 0.4, 60, WHEN + 1000), 0);
		assert_int_equal(pairs_learn(p, "c", "b", 0.4, 60, WHEN + 1000), 0);
	}
	assert_int_equal(pairs_add_trials(p, t), 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.4, 1e-9);
	assert_true(imported_trials_get(t, 0)->weight == 0);
	assert_true(imported_trials_get(t, 1)->weight > 0);
	assert_int_equal(row_of(p, "a", "b").trials, 0);
	/* A trial of years later has not aged what jobs have shown. */
	assert_true(pairs_certain(p, "c", "b", &low, &high));
	assert_float_equal(row_of(p, "c", "b").seconds, 180, 1e-9);
	pairs_free(p);
	imported_trials_free(t);
}

/* The name of jobs is the class that these have once it is known. */
static void of_a_name(void **state)
{
	const struct job_ran ran = {.program = "lmp"};
	struct imported_trials *t = imported_trials_new();
	struct pairs *p = pairs_new();
	double d;

	(void)state;
	add(t, ONE, "7/step-1", "7/step-1+4n", 0.1, 0.001);
	assert_int_equal(pairs_add_trials(p, t), 0);
	assert_true(pairs_expect(p, "7/step-#", "7/step-#+4n", &d));
	pairs_free(p);
	p = pairs_new();
	assert_int_equal(pairs_ran(p, 7, "step-2", &ran, 5), 1);
	assert_int_equal(pairs_add_trials(p, t), 0);
	assert_true(pairs_expect(p, "7@lmp", "7@lmp+4n", &d));
	assert_false(pairs_expect(p, "7/step-#", "7@lmp", &d));
	pairs_free(p);
	imported_trials_free(t);
}

static void several_of_a_pair(void **state)
{
	struct imported_trials *t = imported_trials_new();
	struct pairs *p = pairs_new();
	struct pairs_row row;

	(void)state;
	add(t, ONE, "a", "a", 0.1, 0.001);
	add(t, ONE, "a", "a", 0.2, 0.001);
	add(t, OTHER, "a", "a", 0.3, 0.001);
	assert_int_equal(pairs_add_trials(p, t), 0);
	row = row_of(p, "a", "a");
	assert_int_equal(row.trials, 3);
	assert_float_equal(row.degradation, 0.2, 1e-9);
	assert_float_equal(row.trial_seconds, 3 * TRIAL_MOST_S, 1e-9);
	pairs_free(p);
	imported_trials_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_in_order),
		cmocka_unit_test(no_file),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(so_many),
		cmocka_unit_test(a_strangers_file),
		cmocka_unit_test(seconds_by_the_interval),
		cmocka_unit_test(of_a_new_pair),
		cmocka_unit_test(beside_runs),
		cmocka_unit_test(against_runs),
		cmocka_unit_test(of_a_name),
		cmocka_unit_test(several_of_a_pair),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
