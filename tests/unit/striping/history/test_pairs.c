/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the pair history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "striping/history/pairs.h"
#include "striping/history/miss_cost.h"
#include "striping/history/spread_gain.h"

/* By the lines of its file. */
static int count_pairs(const struct pairs *p)
{
	char path[] = "/tmp/test_pairs.XXXXXX", *text;
	struct errmsg err = {""};
	int fd = mkstemp(path), lines = 0;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(pairs_save(p, path, &err), 0);
	text = fsio_read(path, 16 << 20, NULL, &err);
	assert_non_null(text);
	unlink(path);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	free(text);
	return lines - 1; /* the header */
}

static void learns_directed_means(void **state)
{
	struct pairs *p = pairs_new();
	double d = 9;

	(void)state;
	assert_false(pairs_expect(p, "a", "b", &d));
	assert_float_equal(pairs_mean(p), 0, 0);
	assert_int_equal(pairs_learn(p, "a", "b", 0.4, 100, 1), 0);
	assert_int_equal(pairs_learn(p, "a", "b", 0.2, 300, 2), 0);
	assert_int_equal(pairs_learn(p, "b", "a", 0.1, 100, 2), 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.25, 1e-6);
	assert_true(pairs_expect(p, "b", "a", &d));
	assert_float_equal(d, 0.1, 1e-12);
	assert_false(pairs_expect(p, "a", "a", &d));
	assert_float_equal(pairs_mean(p), 0.175, 1e-6);
	assert_int_equal(count_pairs(p), 2);
	pairs_free(p);
}

/* A pair that changes its ways is followed, however long it was otherwise: at once where it changes
 * much, and where it changes little within a day. */
static void follows_a_change(void **state)
{
	struct pairs *p = pairs_new();
	double d, low, high;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(pairs_learn(p, "a", "b", 0.5, 3600, i), 0);
		assert_int_equal(pairs_learn(p, "b", "a", 0.15, 3600, i), 0);
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(pairs_learn(p, "b", "a", 0.1, 3600, 1000 + i), 0);
	assert_true(pairs_expect(p, "b", "a", &d));
	assert_true(fabs(d - 0.1) < 0.001);
	assert_int_equal(pairs_learn(p, "a", "b", 0.1, 3600, 1000), 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.5, 1e-6);
	assert_int_equal(pairs_learn(p, "a", "b", 0.12, 3600, 1001), 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.11, 1e-6);
	assert_false(pairs_certain(p, "a", "b", &low, &high));
	assert_int_equal(pairs_learn(p, "a", "b", 0.12, 1e9, 1002), 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.12, 1e-9);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	pairs_free(p);
}

/* Fewer than three runs of a minute are no evidence, however long they are. */
static void few_runs_are_no_evidence(void **state)
{
	struct pairs *p = pairs_new();
	double low, high;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.8, 10, i), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pairs_learn(p, "a", "b", 0.8, 7200, i), 0);
		assert_false(pairs_certain(p, "a", "b", &low, &high));
	}
	assert_int_equal(pairs_learn(p, "a", "b", 0.8, 7200, 9), 0);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	/* However well they agree: t = 2.92 of three, 0.02 / sqrt(3) is the least standard error.
	 */
	assert_float_equal(low, 0.8 - 2.92 * 0.02 / sqrt(3), 1e-9);
	assert_float_equal(high, 0.8 + 2.92 * 0.02 / sqrt(3), 1e-9);
	assert_false(pairs_certain(p, "b", "a", &low, &high));
	pairs_free(p);
}

/* Student's interval of five runs: mean 0.5, standard deviation 0.1, t = 2.132. */
static void what_is_certain(void **state)
{
	static const double d[] = {0.4, 0.5, 0.6, 0.37752551286, 0.62247448714};
	struct pairs *p = pairs_new();
	double low, high;

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(pairs_learn(p, "a", "b", d[i], 60 + i, i), 0);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	assert_float_equal((low + high) / 2, 0.5, 1e-9);
	/* sum of squares 0.02 + 2 * 0.015 = 0.05, by n - 1 = 4 */
	assert_float_equal((high - low) / 2, 2.132 * sqrt(0.05 / 4 / 5), 1e-6);
	pairs_free(p);
}

/* A degradation is from 0 to 1, and so are the bounds of what is certain. */
static void certainty_has_bounds(void **state)
{
	struct pairs *p = pairs_new();
	double low, high;

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pairs_learn(p, "a", "b", i % 2 ? 1 : 0.7, 100, i), 0);
		assert_int_equal(pairs_learn(p, "b", "a", i % 2 ? -0.1 : 0, 100, i), 0);
		assert_int_equal(pairs_learn(p, "c", "c", -0.5, 100, i), 0);
	}
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	assert_true(low > 0.5 && low < 0.85);
	assert_float_equal(high, 1, 0);
	assert_true(pairs_certain(p, "b", "a", &low, &high));
	assert_float_equal(low, 0, 0);
	assert_true(high > 0 && high < 0.1);
	assert_true(pairs_certain(p, "c", "c", &low, &high));
	assert_float_equal(low, 0, 0);
	assert_float_equal(high, 0, 0);
	pairs_free(p);
}

/* A pair that changes by less than what is odd keeps what is certain, and then has the new one. */
static void evidence_follows_a_change(void **state)
{
	struct pairs *p = pairs_new();
	double low, high;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.5 + i % 2 * 0.2, 600, i), 0);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	assert_true(low > 0.5 && high < 0.7);
	for (int i = 0; i < 10; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.3, 600, 100 + i), 0);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	assert_true(low < 0.46 && high > 0.4);
	for (int i = 0; i < 200; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.3, 600, 200 + i), 0);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	assert_true(high < 0.32);
	pairs_free(p);
}

/* What a reader of rows is told. */
struct told {
	const char *job;
	double seconds;
	int runs;
};

static void take_seconds(const struct pairs_row *row, void *arg)
{
	struct told *t = arg;

	if (strcmp(row->job, t->job) != 0)
		return;
	t->seconds = row->seconds;
	t->runs = row->runs;
}

/* Old rows weigh less, by the latest observation of any pair, and not by the day on which somebody
 * reads them. */
static void old_rows_fade(void **state)
{
	const long long day = 86400, now = 1000000000;
	struct pairs *p = pairs_new();
	struct told a = {.job = "a"}, b = {.job = "b"};
	double low, high, d;

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.3, 600, now), 0);
	pairs_each(p, take_seconds, &a);
	assert_float_equal(a.seconds, 3000, 1e-6);
	assert_int_equal(pairs_learn(p, "b", "a", 0.2, 600, now + 30 * day), 0);
	pairs_each(p, take_seconds, &a);
	pairs_each(p, take_seconds, &b);
	assert_float_equal(a.seconds, 1500, 1e-6);
	assert_float_equal(b.seconds, 600, 1e-6);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	assert_int_equal(pairs_learn(p, "b", "a", 0.2, 600, now + 91 * day), 0);
	assert_false(pairs_certain(p, "a", "b", &low, &high));
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.3, 1e-9);
	pairs_free(p);
}

/* A run that was odd stays aside over a restart; files of before are still read, and a damaged line
 * is counted. */
static void an_odd_run_survives_the_file(void **state)
{
	static const char row[] = "a\tb\t0.3\t9000\t5\t100\t5\t0.3\t0.0001\n";
	static const char *const wrong[] = {"#odd\t2\t600\t100\n", "#odd\t0.5\t1\t100\n",
		"#odd\t0.5\t600\n", "#odd\t0.5\t600\t100\t1\n", "#odd\tx\t600\t100\n"};
	char dir[] = "/tmp/test_pairs.XXXXXX", path[64], text[256];
	struct errmsg err = {""};
	struct pairs *p = pairs_new();
	double d;
	int bad;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(pairs_learn(p, "a", "b", 0.3, 600, i), 0);
		assert_int_equal(pairs_learn(p, "a", "c", 0.3, 600, i), 0);
	}
	assert_int_equal(pairs_learn(p, "a", "b", 0.6, 600, 10), 0);
	assert_int_equal(pairs_save(p, path, &err), 0);
	pairs_free(p);
	p = pairs_load(path, &bad, &err);
	assert_int_equal(bad, 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.3, 1e-6);
	assert_int_equal(pairs_learn(p, "a", "c", 0.6, 600, 11), 0);
	assert_true(pairs_expect(p, "a", "c", &d));
	assert_float_equal(d, 0.3, 1e-6);
	assert_int_equal(pairs_learn(p, "a", "b", 0.6, 600, 11), 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.6, 1e-6);
	pairs_free(p);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", row, wrong[i]);
		assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
		p = pairs_load(path, &bad, &err);
		assert_int_equal(bad, 1);
		assert_true(pairs_expect(p, "a", "b", &d));
		pairs_free(p);
	}
	snprintf(text, sizeof(text), "#odd\t0.5\t600\t100\n%s", row);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
	p = pairs_load(path, &bad, &err);
	assert_int_equal(bad, 1);
	pairs_free(p);
	unlink(path);
	rmdir(dir);
}

static void evidence_survives_the_file(void **state)
{
	static const char old[] = "#job\tpartner\tdegradation\tseconds\tcount\tlast\n"
				  "a\tb\t0.9\t9000\t50\t100\n";
	char dir[] = "/tmp/test_pairs.XXXXXX", path[64];
	double d, low[2], high[2];
	struct errmsg err = {""};
	struct pairs *p;
	int bad;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	assert_int_equal(fsio_write(path, old, strlen(old), 0600, 0, &err), 0);
	/* What was learned by an earlier release is known, and is no evidence. */
	p = pairs_load(path, &bad, &err);
	assert_int_equal(bad, 0);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.9, 1e-12);
	assert_false(pairs_certain(p, "a", "b", low, high));
	for (int i = 0; i < 4; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.5 + 0.1 * i, 600, 200 + i), 0);
	assert_true(pairs_certain(p, "a", "b", &low[0], &high[0]));
	assert_true(low[0] > 0.4 && high[0] < 0.9);
	assert_int_equal(pairs_save(p, path, &err), 0);
	pairs_free(p);
	p = pairs_load(path, &bad, &err);
	assert_int_equal(bad, 0);
	assert_true(pairs_certain(p, "a", "b", &low[1], &high[1]));
	assert_float_equal(low[0], low[1], 1e-5);
	assert_float_equal(high[0], high[1], 1e-5);
	pairs_free(p);
	unlink(path);
	rmdir(dir);
}

static void refuses_nonsense(void **state)
{
	struct pairs *p = pairs_new();
	char longer[PAIRS_CLASS_MAX + 10];

	(void)state;
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(pairs_learn(p, "", "b", 0.1, 1, 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(pairs_learn(p, "a\tb", "b", 0.1, 1, 1), -1);
	assert_int_equal(pairs_learn(p, longer, "b", 0.1, 1, 1), -1);
	assert_int_equal(pairs_learn(p, "a", "b", 1.5, 1, 1), -1);
	assert_int_equal(pairs_learn(p, "a", "b", -1.5, 1, 1), -1);
	assert_int_equal(pairs_learn(p, "a", "b", NAN, 1, 1), -1);
	assert_int_equal(pairs_learn(p, "a", "b", 0.1, 0, 1), -1);
	assert_int_equal(pairs_learn(p, "a", "b", 0.1, INFINITY, 1), -1);
	assert_int_equal(count_pairs(p), 0);
	pairs_free(p);
}

static int batch_learn(struct pairs_batch *b, const char *path, const char *job,
	const char *partner, double degradation, double seconds, long long now, struct errmsg *err)
{
	const struct pairs_shared with = {
		.job = job, .partner = partner, .degradation = degradation, .seconds = seconds};

	return pairs_batch_learn(b, path, &with, now, err);
}

static void survives_the_file(void **state)
{
	char dir[] = "/tmp/test_pairs.XXXXXX", path[64];
	struct pairs_batch b = {.pairs = NULL};
	struct pairs *p;
	struct errmsg err = {""};
	double d;
	int bad;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" PAIRS_FILE, dir);
	p = pairs_load(path, &bad, &err);
	assert_non_null(p);
	assert_int_equal(count_pairs(p), 0);
	pairs_free(p);
	assert_int_equal(batch_learn(&b, path, "7/lu", "8/cg x", 0.25, 60, 1000, &err), 0);
	assert_int_equal(batch_learn(&b, path, "8/cg x", "7/lu", -0.01, 60, 1000, &err), 0);
	/* However many jobs have told of their partners, the file is written once. */
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	assert_null(b.pairs);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(batch_learn(&b, path, "7/lu", "8/cg x", 0.35, 60, 1001, &err), 0);
	assert_int_equal(batch_learn(&b, path, "7/lu", "8/cg x", 2, 60, 1001, &err), -1);
	assert_non_null(strstr(err.text, "7/lu"));
	/* What cannot be saved is kept. */
	assert_int_equal(pairs_batch_save(&b, "/proc/none/p", &err), -1);
	assert_non_null(b.pairs);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	assert_int_equal(batch_learn(&b, path, "7/lu", "", 0.1, 60, 1001, &err), -1);
	/* Nothing is to be written. */
	assert_false(b.changed);
	unlink(path);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_null(b.pairs);
	assert_int_equal(batch_learn(&b, path, "7/lu", "8/cg x", 0.3, 60, 1001, &err), 0);
	assert_int_equal(batch_learn(&b, path, "8/cg x", "7/lu", -0.01, 60, 1001, &err), 0);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	p = pairs_load(path, &bad, &err);
	assert_non_null(p);
	assert_int_equal(bad, 0);
	assert_int_equal(count_pairs(p), 2);
	assert_true(pairs_expect(p, "7/lu", "8/cg x", &d));
	assert_float_equal(d, 0.3, 1e-6);
	assert_true(pairs_expect(p, "8/cg x", "7/lu", &d));
	assert_float_equal(d, -0.01, 1e-6);
	pairs_free(p);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Which lines of a file can be read, and which is the first that cannot. */
static void tells_of_lines(void **state)
{
	static const char text[] = "#job\tpartner\r\n\r\n"
				   "a\tb\t0.5\t10\t1\t100\r\n"
				   "a\tc\tnan\t10\t1\t100\n"
				   "b\ta\t0.25\t10\t3\t100\n"
				   "rubbish\n"
				   "c\ta\t0.25\0\n"
				   "d\ta\t0.25\t10\t3\t100\n";
	char path[] = "/tmp/test_pairs.XXXXXX";
	struct pairs_lines lines;
	struct errmsg err;
	struct pairs *p;
	double d;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(fsio_write(path, text, sizeof(text) - 1, 0600, 0, &err), 0);
	p = pairs_read(path, &lines, &err);
	assert_non_null(p);
	assert_int_equal(lines.good, 2);
	assert_int_equal(lines.bad, 3);
	assert_int_equal(lines.first_bad, 4);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_false(pairs_expect(p, "d", "a", &d));
	pairs_free(p);
	unlink(path);
	p = pairs_read(path, &lines, &err);
	assert_non_null(p);
	assert_int_equal(lines.good + lines.bad + lines.first_bad, 0);
	pairs_free(p);
}

static void passes_over_broken_lines(void **state)
{
	static const char text[] = "#job\tpartner\tdegradation\tseconds\tcount\tlast\n"
				   "a\tb\t0.5\t10\t1\t100\n"
				   "a\tb\t0.6\t10\t1\t100\n"
				   "a\tc\t0.5\t10\t1\n"
				   "a\td\tx\t10\t1\t100\n"
				   "a\te\t0.5\t10\t0\t100\n"
				   "a\tf\t0.5\t10\t1\t100\tmore\n"
				   "a\tg\t0.5\t10\t1\t100\t3\t0.5\n"
				   "a\th\t0.5\t10\t1\t100\t2.5\t0.5\t0.1\n"
				   "a\ti\t0.5\t10\t1\t100\t21\t0.5\t0.1\n"
				   "a\tj\t0.5\t10\t1\t100\t3\t1.5\t0.1\n"
				   "a\tk\t0.5\t10\t1\t100\t3\t0.5\t-0.1\n"
				   "a\tl\t0.5\t10\t1\t100\t3\t0.5\tnan\n"
				   "a\tm\t0.5\t10\t1\t100\t3\t0.5\t0.1\t\n"
				   "rubbish\n"
				   "b\ta\t0.25\t10\t3\t100";
	char dir[] = "/tmp/test_pairs.XXXXXX", path[64], aside[80];
	struct pairs_batch b = {.pairs = NULL};
	struct pairs *p;
	struct errmsg err;
	double d;
	int bad;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
	p = pairs_load(path, &bad, &err);
	assert_non_null(p);
	assert_int_equal(bad, 13);
	assert_int_equal(count_pairs(p), 2);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_float_equal(d, 0.5, 1e-12);
	pairs_free(p);
	assert_null(pairs_load(dir, &bad, &err));
	/* A new observation takes none of what was there away. */
	snprintf(aside, sizeof(aside), "%s.damaged", path);
	assert_int_equal(batch_learn(&b, path, "c", "a", 0.5, 10, 101, &err), 0);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	p = pairs_load(path, &bad, &err);
	assert_int_equal(bad, 0);
	assert_int_equal(count_pairs(p), 3);
	pairs_free(p);
	p = pairs_load(aside, &bad, &err);
	assert_int_equal(bad, 13);
	pairs_free(p);
	unlink(aside);
	unlink(path);
	rmdir(dir);
}

/* The file stays small: the pairs that were seen longest ago go first. */
static void keeps_a_bounded_number(void **state)
{
	struct pairs *p = pairs_new();
	double d;

	(void)state;
	for (int i = 0; i < 20100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d/x", i);
		assert_int_equal(pairs_learn(p, name, "b", 0.5, 1, i), 0);
	}
	assert_int_equal(count_pairs(p), 20000);
	assert_false(pairs_expect(p, "99/x", "b", &d));
	assert_true(pairs_expect(p, "100/x", "b", &d));
	assert_float_equal(pairs_mean(p), 0.5, 1e-9);
	pairs_free(p);
}

/* Somebody who gives each job a name of its own pushes out their own history, and nobody else's. */
static void a_user_has_so_many_classes(void **state)
{
	static const char kinds[] = "/:"; /* by job names, by class: */
	char name[32];
	double d;

	(void)state;
	for (const char *kind = kinds; *kind; kind++) {
		struct pairs *p = pairs_new();

		assert_int_equal(pairs_learn(p, "7/lu", "8/cg", 0.25, 60, 1), 0);
		assert_int_equal(pairs_learn(p, "10001/a", "8/cg", 0.5, 60, 1), 0);
		for (int i = 0; i < 12000; i++) {
			snprintf(name, sizeof(name), "1000%crun%d", *kind, i);
			assert_int_equal(pairs_learn(p, name, "7/lu", 0.5, 60, 2 + i), 0);
			assert_int_equal(pairs_learn(p, "7/lu", name, 0.5, 60, 2 + i), 0);
		}
		assert_int_equal(count_pairs(p), 2 + 2 * 50);
		assert_true(pairs_expect(p, "7/lu", "8/cg", &d));
		assert_float_equal(d, 0.25, 1e-12);
		assert_true(pairs_expect(p, "10001/a", "8/cg", &d));
		snprintf(name, sizeof(name), "1000%crun%d", *kind, 11949);
		assert_false(pairs_expect(p, "7/lu", name, &d));
		snprintf(name, sizeof(name), "1000%crun%d", *kind, 11950);
		assert_true(pairs_expect(p, "7/lu", name, &d));
		assert_true(pairs_expect(p, name, "7/lu", &d));
		pairs_free(p);
	}
}

/* Enters a pair in both directions. */
static void both(struct pairs *p, const char *a, const char *b, int now)
{
	assert_int_equal(pairs_learn(p, a, b, 0.5, 60, now), 0);
	assert_int_equal(pairs_learn(p, b, a, 0.5, 60, now), 0);
}

/* How many of the pairs between classes of two users are known. */
static int known(const struct pairs *p, const char *class, int n, const char *other, int others)
{
	char a[64], b[64];
	int count = 0;
	double d;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < others; k++) {
			snprintf(a, sizeof(a), "%s%d", class, i);
			snprintf(b, sizeof(b), "%s%d", other, k);
			count += pairs_expect(p, a, b, &d) + pairs_expect(p, b, a, &d);
		}
	return count;
}

/* With sanitizers this takes half a minute, and the next test takes the same ways. */
#ifndef __SANITIZE_ADDRESS__
/* A user who pairs each of their classes with each of all others' fills the history with their own
 * rows, and takes the place of their own and of nobody else's; also where those others were seen
 * long ago, and where the user makes pairs with one of them only, to have them lose theirs. */
static void a_user_has_so_many_rows(void **state)
{
	enum { USERS = 300, HEAVY = 42 };
	struct pairs *p = pairs_new();
	char name[32], other[32];
	double d;

	(void)state;
	/* What others have taught, long ago; one of them has taught much. */
	for (int u = 0; u < USERS; u++) {
		snprintf(name, sizeof(name), "%d/a", 2000 + u);
		snprintf(other, sizeof(other), "%d/b", 2000 + u);
		both(p, name, other, 1 + u);
	}
	for (int i = 0; i < 50; i++)
		for (int k = 0; k < HEAVY; k++) {
			snprintf(name, sizeof(name), "900/w%d", i);
			snprintf(other, sizeof(other), "901/v%d", k);
			both(p, name, other, 1);
		}
	/* The user, beside the heavy one first. */
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "1000:run%d", i);
		for (int k = 0; k < 50; k++) {
			snprintf(other, sizeof(other), "900/w%d", k);
			both(p, name, other, 1000 + i);
		}
		for (int u = 0; u < USERS; u++) {
			snprintf(other, sizeof(other), "%d/a", 2000 + u);
			both(p, name, other, 1000 + i);
		}
	}
	assert_int_equal(count_pairs(p), 20000);
	for (int u = 0; u < USERS; u++) {
		snprintf(name, sizeof(name), "%d/a", 2000 + u);
		snprintf(other, sizeof(other), "%d/b", 2000 + u);
		assert_true(pairs_expect(p, name, other, &d));
		assert_true(pairs_expect(p, other, name, &d));
	}
	assert_int_equal(known(p, "900/w", 50, "901/v", HEAVY), 2 * 50 * HEAVY);
	/* What somebody new teaches has room. */
	both(p, "5000/x", "5001/y", 3000);
	assert_true(pairs_expect(p, "5000/x", "5001/y", &d));
	assert_int_equal(known(p, "900/w", 50, "901/v", HEAVY), 2 * 50 * HEAVY);
	pairs_free(p);
}
#endif

/* Whoever has the most rows loses those with whom most of them are: nobody makes another one lose
 * what they know of a third. */
static void nobody_fills_anothers_share(void **state)
{
	enum { PARTNERS = 70, OTHERS = 4500 };
	struct pairs *p = pairs_new();
	char name[32], other[32];

	(void)state;
	/* A busy user has the most rows, and each partner of theirs some. */
	for (int u = 0; u < PARTNERS; u++)
		for (int i = 0; i < 50; i++) {
			snprintf(name, sizeof(name), "900/w%d", i);
			snprintf(other, sizeof(other), "%d/x0", 2000 + u);
			both(p, name, other, 1);
		}
	/* Others fill most of what is left. */
	for (int i = 0; i < OTHERS; i++) {
		snprintf(name, sizeof(name), "%d/x", 10000 + i);
		snprintf(other, sizeof(other), "%d/y", 10000 + i);
		both(p, name, other, 2);
	}
	/* One makes pairs with the busy one alone. */
	for (int i = 0; i < 50; i++)
		for (int k = 0; k < 50; k++) {
			snprintf(name, sizeof(name), "1000/run%d", i);
			snprintf(other, sizeof(other), "900/w%d", k);
			both(p, name, other, 1000);
		}
	assert_int_equal(count_pairs(p), 20000);
	for (int u = 0; u < PARTNERS; u++) {
		snprintf(other, sizeof(other), "%d/x", 2000 + u);
		assert_int_equal(known(p, "900/w", 50, other, 1), 2 * 50);
	}
	assert_int_equal(
		known(p, "1000/run", 50, "900/w", 50), 20000 - 2 * OTHERS - 2 * 50 * PARTNERS);
	pairs_free(p);
}

/* Evidence that is old stays so over a restart, and so does the time of a clock that was wrong. */
static void times_survive_the_file(void **state)
{
	const long long day = 86400, now = time(NULL);
	char dir[] = "/tmp/test_pairs.XXXXXX", path[64];
	struct errmsg err = {""};
	struct pairs *p = pairs_new();
	struct told a = {.job = "a"};
	double low, high;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	for (int i = 0; i < 5; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.3, 600, now - 95 * day), 0);
	assert_int_equal(pairs_learn(p, "a", "b", 0.3, 5, now - day), 0);
	assert_false(pairs_certain(p, "a", "b", &low, &high));
	assert_int_equal(pairs_save(p, path, &err), 0);
	pairs_free(p);
	p = pairs_load(path, NULL, &err);
	assert_false(pairs_certain(p, "a", "b", &low, &high));
	pairs_free(p);
	/* Most rows are of a time to come: so the clock is slow, and they are not old. */
	p = pairs_new();
	for (int i = 0; i < 5; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.3, 600, now + 100 * day), 0);
	assert_int_equal(pairs_learn(p, "a", "a", 0.3, 600, now + 100 * day), 0);
	assert_int_equal(pairs_learn(p, "b", "a", 0.3, 600, now), 0);
	assert_int_equal(pairs_save(p, path, &err), 0);
	pairs_free(p);
	p = pairs_load(path, NULL, &err);
	pairs_each(p, take_seconds, &a);
	assert_float_equal(a.seconds, 3000, 1e-3);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	pairs_free(p);
	/* One of several: the clock was fast once. */
	p = pairs_new();
	for (int i = 0; i < 5; i++)
		assert_int_equal(pairs_learn(p, "a", "b", 0.3, 600, now), 0);
	assert_int_equal(pairs_learn(p, "a", "a", 0.3, 600, now), 0);
	assert_int_equal(pairs_learn(p, "b", "a", 0.3, 600, now + 1000 * day), 0);
	assert_int_equal(pairs_save(p, path, &err), 0);
	pairs_free(p);
	p = pairs_load(path, NULL, &err);
	assert_true(pairs_certain(p, "a", "b", &low, &high));
	pairs_free(p);
	unlink(path);
	rmdir(dir);
}

/* Variants count as their class, which has a bound of its own for them. */
static void variants_are_bounded(void **state)
{
	struct pairs *p = pairs_new();
	char name[64];
	double d;

	(void)state;
	for (int i = 0; i < 50; i++)
		for (int k = 1; k <= 2; k++) {
			snprintf(name, sizeof(name), "7@p%d+%dn", i, 2 * k);
			assert_int_equal(pairs_learn(p, name, "8@q", 0.1, 60, 100 * i + k), 0);
		}
	assert_int_equal(count_pairs(p), 100);
	/* One class more, and the oldest one goes with all its variants. */
	assert_int_equal(pairs_learn(p, "7@new+2n", "8@q", 0.1, 60, 10000), 0);
	assert_int_equal(count_pairs(p), 99);
	assert_false(pairs_expect(p, "7@p0+2n", "8@q", &d));
	assert_false(pairs_expect(p, "7@p0+4n", "8@q", &d));
	assert_true(pairs_expect(p, "7@p1+2n", "8@q", &d));
	/* The class itself is no variant of it, and names that only begin alike are not its. */
	assert_int_equal(pairs_learn(p, "7@new", "8@q", 0.2, 60, 10001), 0);
	assert_int_equal(count_pairs(p), 100);
	for (int i = 2; i <= 30; i++) {
		snprintf(name, sizeof(name), "7@new+4n+%dx1x1", i);
		assert_int_equal(pairs_learn(p, name, "8@q", 0.3, 60, 10000 + i), 0);
	}
	assert_int_equal(count_pairs(p), 100 - 1 + 12);
	assert_true(pairs_expect(p, "7@new", "8@q", &d));
	assert_float_equal(d, 0.2, 1e-9);
	assert_true(pairs_expect(p, "7@new+4n+30x1x1", "8@q", &d));
	assert_float_equal(d, 0.3, 1e-9);
	pairs_free(p);
	/* So are those of everybody's classes. */
	p = pairs_new();
	for (int i = 2; i <= 30; i++) {
		snprintf(name, sizeof(name), "weather+%dx1x1", i);
		assert_int_equal(pairs_learn(p, "7@a", name, 0.3, 60, 10000 + i), 0);
	}
	assert_int_equal(count_pairs(p), 12);
	pairs_free(p);
}

/* A variant that has not met another one is known as its class. */
static void variants_that_have_not_met(void **state)
{
	struct pairs *p = pairs_new();
	double d, low, high;

	(void)state;
	for (int i = 1; i <= 4; i++) {
		assert_int_equal(pairs_learn(p, "7@a", "8@b", 0.1, 60, i), 0);
		assert_int_equal(pairs_learn(p, "7@a+4n", "8@c", 0.4, 60, i), 0);
	}
	assert_int_equal(pairs_learn(p, "7@a+2n", "8@b", 0.3, 60, 5), 0);
	assert_int_equal(pairs_learn(p, "7@a", "8@b+2n", 0.2, 60, 5), 0);
	assert_true(pairs_expect(p, "7@a+4n", "8@b", &d));
	assert_float_equal(d, 0.1, 1e-9);
	assert_true(pairs_expect(p, "7@a+4n", "8@b+8n", &d));
	assert_float_equal(d, 0.1, 1e-9);
	assert_true(pairs_expect(p, "7@a+2n", "8@b+8n", &d));
	assert_float_equal(d, 0.3, 1e-9);
	assert_true(pairs_expect(p, "7@a+4n", "8@b+2n", &d));
	assert_float_equal(d, 0.2, 1e-9);
	assert_false(pairs_expect(p, "7@a", "8@c", &d));
	assert_true(pairs_certain(p, "7@a+2n", "8@b+8n", &low, &high));
	assert_true(low <= 0.1 && high >= 0.1 && high < 0.2);
	assert_false(pairs_certain(p, "7@a+2n", "8@c", &low, &high));
	pairs_free(p);
}

/* The gain from spreading is in the same file, which a line that cannot be read does not lose. */
static void gains_survive_the_file(void **state)
{
	char dir[] = "/tmp/test_pairs.XXXXXX", path[64], damaged[80];
	struct spread_run run = {7, "step-3", "all", 16, 100};
	const struct pairs_shared with = {
		.job = "7@lu", .partner = "7@lu", .degradation = 0.1, .seconds = 600};
	struct pairs_batch b = {.pairs = NULL};
	struct errmsg err = {""};
	struct spread_gain g;
	long long now = time(NULL);
	double z;
	int runs;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	snprintf(damaged, sizeof(damaged), "%s.damaged", path);
	/* A plain run of a name that nobody asks for changes no file. */
	assert_int_equal(pairs_batch_spread(&b, path, &run, NULL, now, &err), 0);
	assert_false(b.changed);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(pairs_batch_spread(&b, path, &run, "7@lu+2n", now, &err), 0);
	run.seconds = 130;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pairs_batch_spread(&b, path, &run, NULL, now, &err), 0);
	assert_true(b.changed);
	assert_int_equal(pairs_batch_learn(&b, path, &with, now, &err), 0);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs("#spread\t7\tdamaged\n#later\tof another release\n", f);
	fclose(f);
	assert_int_equal(pairs_batch_read(&b, path, &err), 0);
	assert_true(b.changed);
	assert_int_equal(access(damaged, F_OK), 0);
	assert_true(pairs_spread_gain(b.pairs, "7@lu+4n", &g));
	assert_float_equal(g.gain, 0.3, 1e-4);
	assert_int_equal(g.plain, 2);
	assert_int_equal(g.colocated, 1);
	assert_true(pairs_spread_hint(b.pairs, "7@lu", &z, &runs));
	assert_float_equal(z, log(1.3), 1e-4);
	assert_int_equal(runs, 1);
	assert_false(pairs_spread_gain(b.pairs, "8@lu", &g));
	assert_false(pairs_spread_hint(b.pairs, "8@lu", &z, &runs));
	run.seconds = NAN;
	assert_int_equal(pairs_batch_spread(&b, path, &run, NULL, now, &err), -1);
	assert_non_null(strstr(err.text, "how long step-3 of uid 7 took"));
	pairs_batch_forget(&b);
	unlink(damaged);
	unlink(path);
	rmdir(dir);
}

/* So is what a miss costs; an earlier release passes over such lines. */
static void costs_survive_the_file(void **state)
{
	char dir[] = "/tmp/test_pairs.XXXXXX", path[64], damaged[80];
	struct miss_run run = {7, "7@lu+2n", 0.8, 40};
	struct pairs_batch b = {.pairs = NULL};
	struct errmsg err = {""};
	struct miss_cost c;
	long long now = time(NULL);
	double base, miss;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	snprintf(damaged, sizeof(damaged), "%s.damaged", path);
	/* Another user's class is not changed. */
	run.uid = 8;
	assert_int_equal(pairs_batch_miss(&b, path, &run, now, &err), 0);
	assert_false(b.changed);
	run.uid = 7;
	assert_int_equal(pairs_batch_miss(&b, path, &run, now, &err), 0);
	assert_true(b.changed);
	assert_false(pairs_miss_hint(b.pairs, "7@lu", &base, &miss));
	/* A second one from a clock that was wrong. */
	run.miss_cycles = 44;
	assert_int_equal(pairs_batch_miss(&b, path, &run, now + 1000000, &err), 0);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs("#miss\t7@damaged\n", f);
	fclose(f);
	assert_int_equal(pairs_batch_read(&b, path, &err), 0);
	assert_true(b.changed);
	assert_int_equal(access(damaged, F_OK), 0);
	assert_true(pairs_miss_cost(b.pairs, "7@lu+4n", &c));
	assert_int_equal(c.runs, 2);
	assert_true(pairs_miss_hint(b.pairs, "7@lu", &base, &miss));
	assert_float_equal(base, 0.8, 1e-4);
	assert_float_equal(miss, sqrt(40 * 44), 1e-3);
	assert_false(pairs_miss_hint(b.pairs, "8@lu", &base, &miss));
	pairs_batch_forget(&b);
	unlink(damaged);
	unlink(path);
	rmdir(dir);
}

/* What job 5 of user 7, which began at 100, has shown until now beside job 6. */
static struct pairs_shared shown(double degradation, double seconds)
{
	return (struct pairs_shared){.job = "7/a",
		.partner = "8/b",
		.degradation = degradation,
		.seconds = seconds,
		.uid = 7,
		.job_id = 5,
		.partner_id = 6,
		.start = 100};
}

/* The mean and the weight of the first pair. */
static void assert_first(const struct pairs *p, double degradation, double seconds, int runs)
{
	struct told a = {.job = "7/a"};
	double d;

	pairs_each(p, take_seconds, &a);
	/* Some minutes have passed meanwhile. */
	assert_float_equal(a.seconds, seconds, 1e-3 * seconds);
	assert_int_equal(a.runs, runs);
	assert_true(pairs_expect(p, "7/a", "8/b", &d));
	assert_float_equal(d, degradation, 1e-5);
}

/* slurmctld is killed: what was not saved is gone. */
static void killed(struct pairs_batch *b, const char *path)
{
	struct errmsg err = {""};

	pairs_batch_forget(b);
	assert_int_equal(pairs_batch_read(b, path, &err), 0);
	assert_false(b->changed);
}

static int tell(
	struct pairs_batch *b, const char *path, double degradation, double seconds, long long now)
{
	const struct pairs_shared with = shown(degradation, seconds);
	struct errmsg err = {""};

	return pairs_batch_segment(b, path, &with, now, &err);
}

/* A run tells while it goes on. Each part counts once, whatever was saved before a kill, and after
 * its price the pair is as if it had told nothing before. */
static void a_run_tells_once(void **state)
{
	struct pairs_batch b = {.pairs = NULL};
	char dir[] = "/tmp/test_pairs.XXXXXX", path[64];
	struct errmsg err = {""};
	struct pairs_shared with = shown(0.25, 400);
	double low, high;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" PAIRS_FILE, dir);
	assert_int_equal(tell(&b, path, 0.2, 59, 200), 0);
	assert_false(b.changed);
	assert_int_equal(tell(&b, path, 0.2, 100, 200), 0);
	assert_true(b.changed);
	assert_true(pairs_is_segment(b.pairs, &with));
	assert_first(b.pairs, 0.2, 100, 0);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	/* The same records once more. */
	assert_int_equal(tell(&b, path, 0.2, 100, 201), 0);
	assert_false(b.changed);
	with.seconds = 150;
	assert_false(pairs_is_segment(b.pairs, &with));
	/* Told, and killed before that is saved: it is told again. */
	assert_int_equal(tell(&b, path, 0.3, 200, 210), 0);
	assert_first(b.pairs, 0.3, 200, 0);
	killed(&b, path);
	assert_first(b.pairs, 0.2, 100, 0);
	assert_int_equal(tell(&b, path, 0.3, 200, 220), 0);
	assert_first(b.pairs, 0.3, 200, 0);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	/* Killed after it: not again. */
	killed(&b, path);
	assert_int_equal(tell(&b, path, 0.3, 200, 230), 0);
	assert_false(b.changed);
	/* Another run of the job id tells for itself. */
	with = shown(0.3, 100);
	with.start = 300;
	assert_true(pairs_is_segment(b.pairs, &with));
	/* The price. */
	with = shown(0.25, 400);
	assert_int_equal(pairs_batch_learn(&b, path, &with, 400, &err), 0);
	assert_first(b.pairs, 0.25, 400, 1);
	assert_int_equal(pairs_batch_end(&b, path, 5, 100, &err), 0);
	assert_int_equal(pairs_batch_save(&b, path, &err), 0);
	killed(&b, path);
	assert_int_equal(count_pairs(b.pairs), 1);
	assert_int_equal(pairs_batch_end(&b, path, 5, 100, &err), 0);
	assert_false(b.changed);
	/* Two more make three runs of evidence, however often they have told. */
	for (int i = 0; i < 2; i++) {
		with.start = 1000 + i;
		for (int k = 1; k < 20; k++) {
			with.seconds = 100 * k;
			assert_int_equal(pairs_batch_segment(&b, path, &with, 1000, &err), 0);
			assert_false(pairs_certain(b.pairs, "7/a", "8/b", &low, &high));
		}
		assert_int_equal(pairs_batch_learn(&b, path, &with, 1000, &err), 0);
	}
	assert_true(pairs_certain(b.pairs, "7/a", "8/b", &low, &high));
	assert_first(b.pairs, 0.25, 400 + 2 * 1900, 3);
	pairs_batch_forget(&b);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Of two classes a run tells what it has not told of these two; and where the history has forgotten
 * a pair, all of it. */
static void tells_of_classes(void **state)
{
	struct pairs *p = pairs_new();
	struct pairs_shared with = shown(0.2, 100);
	char name[32];

	(void)state;
	assert_int_equal(pairs_learn_segment(p, &with, 200), 1);
	with.job = "7@prog";
	with.seconds = 300;
	assert_int_equal(pairs_learn_segment(p, &with, 400), 1);
	assert_int_equal(pairs_learn_run(p, &with, 400), 0);
	with.job = "7/a";
	assert_first(p, 0.2, 100, 0);
	assert_int_equal(pairs_learn_run(p, &with, 400), 0);
	assert_first(p, 0.2, 300, 1);
	assert_true(pairs_end_run(p, 5, 100));
	assert_false(pairs_end_run(p, 5, 100));
	/* Its class makes room for others of its user. */
	with.job_id = 9;
	assert_int_equal(pairs_learn_segment(p, &with, 500), 1);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "7/other%d", i);
		assert_int_equal(pairs_learn(p, name, "8/c", 0.5, 60, 1000 + i), 0);
	}
	assert_false(pairs_end_run(p, 9, 100));
	assert_int_equal(pairs_learn_run(p, &with, 2000), 0);
	assert_first(p, 0.2, 300, 1);
	pairs_free(p);
}

/* What cannot be is refused, and who has told too much is not heard; nothing is lost by that. */
static void refuses_segments(void **state)
{
	struct pairs *p = pairs_new();
	struct pairs_shared with = shown(NAN, 100);

	(void)state;
	assert_int_equal(pairs_learn_segment(p, &with, 200), -1);
	assert_int_equal(errno, EINVAL);
	with = shown(0.2, 100);
	with.partner = "";
	assert_int_equal(pairs_learn_segment(p, &with, 200), -1);
	assert_int_equal(count_pairs(p), 0);
	with.partner = "8/b";
	for (unsigned int i = 0; i < 500; i++) {
		with.job_id = 1 + i;
		assert_int_equal(pairs_learn_segment(p, &with, 200), 1);
	}
	with.job_id = 501;
	with.partner = "8/new";
	assert_int_equal(pairs_learn_segment(p, &with, 200), 0);
	assert_int_equal(count_pairs(p), 501);
	assert_int_equal(pairs_learn_run(p, &with, 200), 0);
	assert_int_equal(count_pairs(p), 502);
	pairs_free(p);
}

/* Of a pair that cannot be read nobody has told, and other lines are read. */
static void told_lines_of_the_file(void **state)
{
	static const char text[] = "#job\tpartner\tdegradation\tseconds\tcount\tlast\n"
				   "#told\t7\t5\t100\t6\t60\t6\t100\n"
				   "7/a\t8/b\t0.2\t100\t1\t100\t0\t0\t0\n"
				   "#told\t7\t5\t100\t6\t100\t20\t200\n"
				   "#told\t7\t5\t100\t6\t100\t20\t200\n"
				   "#told\t7\t5\t100\t7\t100\t200\t200\n"
				   "8/b\t7/a\tx\t100\t1\t100\n"
				   "#told\t8\t6\t100\t5\t100\t20\t200\n";
	char path[] = "/tmp/test_pairs.XXXXXX";
	struct pairs_shared with = shown(0.2, 150);
	struct errmsg err = {""};
	int fd = mkstemp(path), bad;
	struct pairs *p;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
	p = pairs_load(path, &bad, &err);
	assert_non_null(p);
	assert_int_equal(bad, 5);
	assert_false(pairs_is_segment(p, &with));
	assert_int_equal(pairs_learn_run(p, &with, 100), 0);
	assert_first(p, 0.2, 150, 1);
	pairs_free(p);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learns_directed_means),
		cmocka_unit_test(follows_a_change),
		cmocka_unit_test(few_runs_are_no_evidence),
		cmocka_unit_test(what_is_certain),
		cmocka_unit_test(tells_of_lines),
		cmocka_unit_test(certainty_has_bounds),
		cmocka_unit_test(evidence_follows_a_change),
		cmocka_unit_test(old_rows_fade),
		cmocka_unit_test(times_survive_the_file),
		cmocka_unit_test(a_run_tells_once),
		cmocka_unit_test(tells_of_classes),
		cmocka_unit_test(refuses_segments),
		cmocka_unit_test(told_lines_of_the_file),
		cmocka_unit_test(an_odd_run_survives_the_file),
		cmocka_unit_test(evidence_survives_the_file),
		cmocka_unit_test(refuses_nonsense),
		cmocka_unit_test(survives_the_file),
		cmocka_unit_test(gains_survive_the_file),
		cmocka_unit_test(costs_survive_the_file),
		cmocka_unit_test(passes_over_broken_lines),
		cmocka_unit_test(keeps_a_bounded_number),
		cmocka_unit_test(a_user_has_so_many_classes),
		cmocka_unit_test(variants_are_bounded),
		cmocka_unit_test(variants_that_have_not_met),
#ifndef __SANITIZE_ADDRESS__ /* it takes half a minute with it, and the next one takes the same    \
				ways */
		cmocka_unit_test(a_user_has_so_many_rows),
#endif
		cmocka_unit_test(nobody_fills_anothers_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
