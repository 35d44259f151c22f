/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the gain from spreading. */
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

#include "striping/history/spread_gain.h"

#define DAY 86400LL

static int make(void **state)
{
	*state = spread_gains_new();
	return *state ? 0 : -1;
}

static int drop(void **state)
{
	spread_gains_free(*state);
	return 0;
}

/* A run of that name in the partition "all". */
static struct spread_run of(uint32_t uid, const char *name, uint32_t cpus, double seconds)
{
	return (struct spread_run){uid, name, "all", cpus, seconds};
}

static void plain(struct spread_gains *t, const char *name, double seconds, long long now)
{
	const struct spread_run run = of(7, name, 16, seconds);

	assert_int_equal(spread_gains_plain(t, &run, now), 1);
}

static void colocated(struct spread_gains *t, const char *name, double seconds, long long now)
{
	const struct spread_run run = of(7, name, 16, seconds);

	assert_int_equal(spread_gains_colocated(t, &run, "7@lu", now), 1);
}

static struct spread_gain gain(const struct spread_gains *t, const char *class_name)
{
	struct spread_gain g;
	bool sure = spread_gains_of(t, class_name, &g);

	assert_int_equal(sure, g.doubt == SPREAD_SURE);
	return g;
}

/* The geometric means of both are 150 and 100 CPU seconds times 16. */
static void the_gain_is_the_ratio(void **state)
{
	struct spread_gains *t = *state;
	struct spread_gain g;

	colocated(t, "step-1", 100 * 1.05, 1);
	colocated(t, "step-2", 100 / 1.05, 2);
	plain(t, "step-3", 150 * 1.1, 3);
	plain(t, "step-44", 150 / 1.1, 4);
	g = gain(t, "7@lu");
	assert_int_equal(g.doubt, SPREAD_SURE);
	assert_float_equal(g.gain, 0.5, 1e-9);
	/* Of two, log(1.1) and log(1.05) are off the mean: the variance of one is twice their
	 * squares, and half of that the mean's. */
	assert_float_equal(g.error, sqrt(pow(log(1.1), 2) + pow(log(1.05), 2)), 1e-9);
	assert_int_equal(g.plain, 2);
	assert_int_equal(g.colocated, 2);
	assert_int_equal(g.class, SPREAD_HIGH);
	assert_string_equal(spread_class_name(g.class), "High");
	assert_string_equal(spread_doubt_name(g.doubt), "");
	/* The name is known for that program, and another class is not. */
	assert_float_equal(gain(t, "7/step-#").gain, 0.5, 1e-9);
	assert_float_equal(gain(t, "7@lu+4n").gain, 0.5, 1e-9);
	assert_true(isnan(gain(t, "7@lu+").gain));
	assert_true(isnan(gain(t, "7@l").gain));
	assert_true(isnan(gain(t, "7@lu2").gain));
	assert_true(isnan(gain(t, "70@lu").gain));
	assert_true(isnan(gain(t, "lu").gain));
	assert_true(isnan(gain(t, "").gain));
}

static void thesis_classes(void **state)
{
	struct spread_gains *t = *state;
	static const struct {
		double seconds;
		enum spread_class class;
	} want[] = {{139.9, SPREAD_MEDIUM}, {140.1, SPREAD_HIGH}, {119.9, SPREAD_LOW},
		{120.1, SPREAD_MEDIUM}, {80, SPREAD_LOW}};
	char name[8] = "a";

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		char class_name[16];
		struct spread_run run = of(7, name, 16, 100);

		name[0] = (char)('a' + i);
		snprintf(class_name, sizeof(class_name), "7/%s", name);
		assert_int_equal(spread_gains_colocated(t, &run, class_name, 1), 1);
		plain(t, name, want[i].seconds, 1);
		plain(t, name, want[i].seconds, 1);
		assert_int_equal(gain(t, class_name).class, want[i].class);
	}
}

/* Runs that agree by chance are not more certain than a run can be. */
static void no_run_is_exact(void **state)
{
	struct spread_gains *t = *state;

	colocated(t, "a", 100, 1);
	plain(t, "a", 120, 1);
	plain(t, "a", 120, 1);
	assert_float_equal(gain(t, "7@lu").error, 0.02 * sqrt(0.5 + 1), 1e-9);
}

static void one_plain_run_is_no_gain(void **state)
{
	struct spread_gains *t = *state;
	struct spread_gain g;

	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_NO_RUN);
	colocated(t, "a", 100, 1);
	g = gain(t, "7@lu");
	assert_int_equal(g.doubt, SPREAD_NO_RUN);
	assert_int_equal(g.colocated, 1);
	assert_int_equal(g.plain, 0);
	assert_string_equal(spread_doubt_name(g.doubt), "no-run");
	plain(t, "a", 140, 1);
	g = gain(t, "7@lu");
	assert_int_equal(g.doubt, SPREAD_ONE_RUN);
	assert_float_equal(g.gain, 0.4, 1e-9);
	assert_true(isnan(g.error));
	assert_int_equal(g.class, SPREAD_UNKNOWN);
	assert_string_equal(spread_class_name(g.class), "unknown");
	plain(t, "a", 140, 1);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_SURE);
}

static void runs_apart_are_no_gain(void **state)
{
	struct spread_gains *t = *state;

	colocated(t, "a", 100, 1);
	plain(t, "a", 100, 1);
	plain(t, "a", 130, 1);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_APART);
	assert_int_equal(gain(t, "7@lu").class, SPREAD_UNKNOWN);
	/* They agree from now on. */
	for (int i = 0; i < 30; i++)
		plain(t, "a", 130, 1);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_SURE);
	assert_float_equal(gain(t, "7@lu").gain, 0.3, 0.01);
	/* Those beside others may do other work, too. */
	colocated(t, "a", 150, 1);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_APART);
}

/* Whatever runs a user makes up, the gain is one that a job can have. */
static void gains_are_bounded(void **state)
{
	struct spread_gains *t = *state;

	colocated(t, "a", 100, 1);
	plain(t, "a", 1e9, 1);
	plain(t, "a", 1e9, 1);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_APART);
	assert_float_equal(gain(t, "7@lu").gain, 1, 0);
	for (int i = 0; i < 200; i++)
		plain(t, "a", 20, 1);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_APART);
	assert_float_equal(gain(t, "7@lu").gain, -0.5, 0);
}

static void sizes_are_compared_with_their_like(void **state)
{
	struct spread_gains *t = *state;
	struct spread_run big = of(7, "a", 64, 50), other = of(7, "a", 16, 140);
	struct spread_gain g;

	colocated(t, "a", 100, 1);
	assert_int_equal(spread_gains_plain(t, &big, 1), 1);
	g = gain(t, "7@lu");
	assert_int_equal(g.doubt, SPREAD_OTHER_CPUS);
	assert_true(isnan(g.gain));
	assert_int_equal(g.plain, 1);
	other.partition = "fat";
	assert_int_equal(spread_gains_plain(t, &other, 1), 1);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_PARTITION);
	plain(t, "a", 140, 1);
	plain(t, "a", 140, 1);
	assert_float_equal(gain(t, "7@lu").gain, 0.4, 1e-9);
	assert_int_equal(gain(t, "7@lu").plain, 2);
	/* Two sizes are one class. Where they differ more than their runs, so does the gain. */
	assert_int_equal(spread_gains_plain(t, &big, 1), 1);
	big.seconds = 40;
	assert_int_equal(spread_gains_colocated(t, &big, "7@lu", 1), 1);
	g = gain(t, "7@lu");
	assert_float_equal(g.gain, sqrt(1.4 * 1.25) - 1, 1e-9);
	assert_float_equal(g.error, log(1.4 / 1.25) / 2, 1e-9);
	assert_int_equal(g.plain, 4);
	assert_int_equal(g.colocated, 2);
}

/* Nobody asks for the runs of names that were never co-located; too short ones tell nothing. */
static void what_does_not_count(void **state)
{
	struct spread_gains *t = *state;
	struct spread_run run = of(7, "a", 16, 100);

	assert_int_equal(spread_gains_plain(t, &run, 1), 0);
	assert_int_equal(spread_gains_colocated(t, &run, "lu", 1), 0);
	assert_int_equal(spread_gains_colocated(t, &run, "8@lu", 1), 0);
	assert_int_equal(spread_gains_colocated(t, &run, "", 1), 0);
	colocated(t, "a", 100, 1);
	assert_int_equal(spread_gains_plain(t, &run, 1), 1);
	run.uid = 8;
	assert_int_equal(spread_gains_plain(t, &run, 1), 0);
	run = of(7, "b", 16, 100);
	assert_int_equal(spread_gains_plain(t, &run, 1), 0);
	run = of(7, "a", 16, 19.9);
	assert_int_equal(spread_gains_plain(t, &run, 1), 0);
	assert_int_equal(gain(t, "7@lu").plain, 1);
	static const double bad[] = {0, -1, NAN, INFINITY, 1.1e10};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		run = of(7, "a", 16, bad[i]);
		errno = 0;
		assert_int_equal(spread_gains_plain(t, &run, 1), -1);
		assert_int_equal(errno, EINVAL);
	}
	run = of(7, "a", 0, 100);
	assert_int_equal(spread_gains_colocated(t, &run, "7@lu", 1), -1);
}

/* A name is of the class that it ran last. */
static void a_name_changes_its_class(void **state)
{
	struct spread_gains *t = *state;
	struct spread_run run = of(7, "a", 16, 100);

	colocated(t, "a", 100, 1);
	plain(t, "a", 140, 1);
	plain(t, "a", 140, 1);
	assert_int_equal(spread_gains_colocated(t, &run, "7:cfd+2n", 1), 1);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_NO_RUN);
	assert_int_equal(gain(t, "7:cfd").doubt, SPREAD_SURE);
	assert_int_equal(gain(t, "7:cfd+16n+2x8x1").plain, 2);
}

/* What is 90 days older than the last co-located run tells nothing; while there is none nothing is
 * forgotten. */
static void runs_grow_old(void **state)
{
	struct spread_gains *t = *state;
	struct spread_run run = of(8, "b", 16, 100);

	colocated(t, "a", 100, 0);
	plain(t, "a", 140, 0);
	plain(t, "a", 140, 0);
	plain(t, "a", 140, 200 * DAY);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_ONE_RUN);
	plain(t, "a", 140, 200 * DAY);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_SURE);
	assert_int_equal(spread_gains_colocated(t, &run, "8@lu", 91 * DAY), 1);
	assert_int_equal(gain(t, "7@lu").colocated, 0);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_OTHER_CPUS);
	/* The clock was wrong. */
	spread_gains_no_later(t, 10 * DAY);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_SURE);
}

static char *text_of(const struct spread_gains *t)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	spread_gains_write(t, f);
	fclose(f);
	return text;
}

static int lines_of(const struct spread_gains *t, const char *begin)
{
	char *text = text_of(t), *save = NULL;
	int lines = 0;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		lines += !strncmp(line, begin, strlen(begin));
	free(text);
	return lines;
}

/* Reads lines; how many of them cannot be read. */
static int read_lines(struct spread_gains *t, const char *text)
{
	char *copy = strdup(text), *save = NULL;
	int bad = 0;

	assert_non_null(copy);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		bad += !spread_gains_read(t, line);
	free(copy);
	return bad;
}

static void there_and_back(void **state)
{
	struct spread_gains *t = *state, *again = spread_gains_new();
	struct spread_run odd = {4294967295U, "a\tb\n#spread\t8", "p\nq", 4294967295U, 1e6};
	struct spread_gain g, h;
	char *text, *second;

	assert_int_equal(spread_gains_colocated(t, &odd, "4294967295/\t+", DAY), 1);
	assert_int_equal(spread_gains_plain(t, &odd, DAY), 1);
	odd.partition = NULL;
	odd.job_name = NULL;
	assert_int_equal(spread_gains_colocated(t, &odd, "4294967295@x", DAY), 1);
	odd.cpus = 1;
	assert_int_equal(spread_gains_plain(t, &odd, 2 * DAY), 1);
	for (int i = 0; i < 12; i++) {
		colocated(t, "step-3", 100 + i, i);
		plain(t, "step-3", 160 - i, 3 * i);
	}
	text = text_of(t);
	assert_int_equal(lines_of(t, "#spread\t"), 4);
	assert_non_null(again);
	assert_int_equal(read_lines(again, text), 0);
	second = text_of(again);
	assert_string_equal(text, second);
	g = gain(t, "7@lu");
	h = gain(again, "7@lu");
	assert_int_equal(g.doubt, h.doubt);
	assert_int_equal(h.plain, 10);
	assert_int_equal(h.colocated, 10);
	assert_float_equal(g.gain, h.gain, 1e-4);
	assert_float_equal(g.error, h.error, 1e-5);
	free(text);
	free(second);
	spread_gains_free(again);
}

static void damaged_lines(void **state)
{
	static const char good[] = "#spread\t7\ta\t16\tall\t7@lu\t2\t2240\t0\t5\t1\t1600\t0\t5\n"
				   "#spread\t7\tb\t16\t\t7@lu\t2\t2240\t0\t5\t0\t0\t0\t0\n";
	static const char bad[] =
		"#spread\t7\ta\t16\tall\t7@lu\t2\t2240\t0\t5\t1\t1600\t0\t5\n" /* again */
		"#spread\t\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\t2240\t0\t5\t1\t1600\t0\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\t2240\t0\t5\t1\t1600\t0\t5\t\n"
		"#spread\t-7\tc\t16\tall\t7@lu\t2\t2240\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t4294967296\tc\t16\tall\t7@lu\t2\t2240\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t0\tall\t7@lu\t2\t2240\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\tx\tall\t7@lu\t2\t2240\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t8@lu\t2\t2240\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\tlu\t2\t2240\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t11\t2240\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t0\t0\t0\t5\t0\t0\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\t0\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\tnan\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\tinf\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\t1e300\t0\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\t2240\t1e9\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\t2240\t-1\t5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\t2240\t0\t-5\t1\t1600\t0\t5\n"
		"#spread\t7\tc\t16\tall\t7@lu\t2\t2240\t0\t99999999999999999999\t1\t1600\t0\t5\n";
	struct spread_gains *t = *state;
	char line[1200];

	assert_int_equal(read_lines(t, good), 0);
	assert_int_equal(read_lines(t, bad), 20);
	snprintf(line, sizeof(line), "#spread\t7\t%0300d\t16\tall\t7@lu\t2\t2240\t0\t5\t0\t0\t0\t0",
		1);
	assert_int_equal(read_lines(t, line), 1);
	snprintf(line, sizeof(line), "#spread\t7\tc\t16\t%0100d\t7@lu\t2\t2240\t0\t5\t0\t0\t0\t0",
		1);
	assert_int_equal(read_lines(t, line), 1);
	snprintf(line, sizeof(line), "#spread\t7\tc\t16\tall\t7@%0300d\t2\t2240\t0\t5\t0\t0\t0\t0",
		1);
	assert_int_equal(read_lines(t, line), 1);
	assert_int_equal(lines_of(t, "#spread\t"), 2);
	assert_float_equal(gain(t, "7@lu").gain, 0.4, 1e-9);
}

/* Whoever floods the table loses what is theirs, and nobody else what others have. */
static void floods_push_out_their_own(void **state)
{
	struct spread_gains *t = *state;

	colocated(t, "quiet", 100, 0);
	plain(t, "quiet", 140, 0);
	plain(t, "quiet", 140, 0);
	for (uint32_t uid = 1000; uid < 1100; uid++) {
		for (uint32_t i = 1; i <= 150; i++) {
			struct spread_run run = of(uid, "flood", i, 100);
			char class_name[32];

			snprintf(class_name, sizeof(class_name), "%u@lu", uid);
			if (i < 3)
				assert_int_equal(spread_gains_colocated(t, &run, class_name, i), 1);
			assert_int_equal(spread_gains_plain(t, &run, i), 1);
		}
		if (uid == 1000)
			assert_int_equal(lines_of(t, "#spread\t1000\t"), 100);
	}
	assert_int_equal(lines_of(t, "#spread\t"), 5000);
	/* Each has as many as another one. */
	assert_in_range(lines_of(t, "#spread\t1000\t"), 49, 51);
	assert_in_range(lines_of(t, "#spread\t1099\t"), 49, 51);
	assert_int_equal(gain(t, "7@lu").doubt, SPREAD_SURE);
	assert_int_equal(lines_of(t, "#spread\t7\tquiet\t"), 1);
}

struct listed {
	char text[200];
	int plain;
};

static void list(const char *class_name, const struct spread_gain *g, void *arg)
{
	struct listed *l = arg;

	strcat(strcat(l->text, class_name), " ");
	l->plain += g->plain;
}

static void each_class_comes_once(void **state)
{
	struct spread_gains *t = *state;
	struct spread_run run = of(10, "a", 16, 100);
	struct listed l = {.text = ""};

	assert_int_equal(spread_gains_each(t, list, &l), 0);
	assert_string_equal(l.text, "");
	assert_int_equal(spread_gains_colocated(t, &run, "10@x", 1), 1);
	colocated(t, "b", 100, 1);
	colocated(t, "a", 100, 1);
	plain(t, "a", 100, 1);
	run = of(7, "c", 16, 100);
	assert_int_equal(spread_gains_colocated(t, &run, "7/c", 1), 1);
	assert_int_equal(spread_gains_each(t, list, &l), 0);
	assert_string_equal(l.text, "7/c 7@lu 10@x ");
	assert_int_equal(l.plain, 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(the_gain_is_the_ratio), TEST(thesis_classes),
		TEST(no_run_is_exact), TEST(one_plain_run_is_no_gain), TEST(runs_apart_are_no_gain),
		TEST(gains_are_bounded), TEST(sizes_are_compared_with_their_like),
		TEST(what_does_not_count), TEST(a_name_changes_its_class), TEST(runs_grow_old),
		TEST(there_and_back), TEST(damaged_lines), TEST(floods_push_out_their_own),
		TEST(each_class_comes_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
