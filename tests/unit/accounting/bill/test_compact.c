/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of comparing co-located jobs with plain runs. */
#include "accounting/bill/compact.h"

#include <stdlib.h>
#include <string.h>

#include "unit/accounting/bill/bill_rows.h"

#define JOB(name)                                                                                  \
	ROW_ON(1, "ada", name, DAY1, 100, 9, 0, PRICED("0.2", "1", "0.2", "9", "80"), 16, 2)
#define PLAIN(id, name, elapsed) ROW_ON(id, "ada", name, DAY1 + (id), elapsed, 9, 0, "", 16, 1)

/* What is known of the first of the rows. */
static struct compact first(const struct row *rows, int n)
{
	struct bills bills = bills_of(rows, n);
	struct plain_runs *runs = plain_runs_find(&bills);
	struct compact c;

	assert_non_null(runs);
	c = compact_of(runs, &bills.bill[0]);
	plain_runs_free(runs);
	bills_free(&bills);
	return c;
}

#define FIRST(...)                                                                                 \
	first((const struct row[]){__VA_ARGS__},                                                   \
		(int)(sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row)))

/* The median of runs on half as many nodes, with the same CPUs. */
static void median_of_plain_runs(void **state)
{
	struct compact c = FIRST(JOB("x"), PLAIN(2, "x", 110), PLAIN(3, "x", 120),
		PLAIN(4, "x", 112), PLAIN(5, "x", 90), PLAIN(6, "x", 114));

	(void)state;
	assert_int_equal(c.doubt, COMPACT_NONE);
	assert_true(compact_known(&c) && compact_sure(&c));
	assert_int_equal(c.runs, 5);
	assert_true(near(c.run_s, 112) && near(c.progress, 1.12));
	assert_true(near(c.apart, (114.0 - 110) / 112));
	assert_true(isnan(c.power_w));
}

/* Who does not count: another user, another name, other CPUs, what failed, what is co-located. */
static void same_work(void **state)
{
	struct row others[] = {JOB("x"), PLAIN(2, "x", 110), PLAIN(3, "x", 110)};
	struct compact c;

	(void)state;
	others[1].user = "bob";
	others[2].name = "xy";
	c = first(others, 3);
	assert_int_equal(c.doubt, COMPACT_NO_RUN);
	assert_true(isnan(c.progress) && !compact_known(&c) && c.runs == 0);
	others[2].name = "x";
	others[2].state = "FAILED";
	assert_int_equal(first(others, 3).doubt, COMPACT_NO_RUN);
	others[2].state = NULL;
	others[2].comment = "colocate: stripe";
	assert_int_equal(first(others, 3).doubt, COMPACT_NO_RUN);
	others[2].comment = "";
	others[2].cpus = 32;
	others[2].nodes = 2;
	assert_int_equal(first(others, 3).doubt, COMPACT_OTHER_CPUS);
	/* Nothing is known of a row without CPUs. */
	others[2].cpus = others[0].cpus = 0;
	assert_int_equal(first(others, 3).doubt, COMPACT_OTHER_CPUS);
	others[0].state = "TIMEOUT";
	assert_int_equal(first(others, 3).doubt, COMPACT_NOT_DONE);
}

static void names_and_digits(void **state)
{
	struct compact c;

	(void)state;
	/* Names that differ in digits are alike ... */
	c = FIRST(JOB("run7-2026"), PLAIN(2, "run12-1", 110), PLAIN(3, "run1-99", 130));
	assert_true(c.doubt == COMPACT_NONE && c.runs == 2 && near(c.run_s, 120));
	/* ... but the very name comes first, where there are two runs of it. */
	c = FIRST(JOB("run7"), PLAIN(2, "run8", 300), PLAIN(3, "run7", 110), PLAIN(4, "run7", 112),
		PLAIN(5, "run8", 300));
	assert_true(c.doubt == COMPACT_NONE && c.runs == 2 && near(c.run_s, 111));
	c = FIRST(JOB("run"), PLAIN(2, "run1", 110), PLAIN(3, "r2n", 110), PLAIN(4, "1run", 110));
	assert_int_equal(c.doubt, COMPACT_NO_RUN);
}

static void doubts(void **state)
{
	struct row rows[] = {JOB("x"), PLAIN(2, "x", 110), PLAIN(3, "x", 112), PLAIN(4, "x", 115)};
	struct compact c;

	(void)state;
	c = first(rows, 2);
	assert_true(c.doubt == COMPACT_ONE_RUN && compact_known(&c) && !compact_sure(&c));
	assert_true(near(c.progress, 1.1) && isnan(c.apart));
	/* Of fewer than four runs the least and the most count. */
	rows[3].elapsed = 200;
	c = first(rows, 4);
	assert_true(c.doubt == COMPACT_APART && near(c.apart, 90.0 / 112));
	rows[3].elapsed = 115;
	/* As many nodes as the lanes had: the rest of each node was not theirs. */
	for (int i = 1; i < 4; i++)
		rows[i].nodes = 2;
	assert_int_equal(first(rows, 4).doubt, COMPACT_PART);
	/* One that filled its node tells more than these. */
	rows[2].nodes = 1;
	c = first(rows, 4);
	assert_true(c.doubt == COMPACT_ONE_RUN && near(c.run_s, 112));
	rows[2].nodes = 2;
	rows[0].partition = "fast";
	assert_int_equal(first(rows, 4).doubt, COMPACT_PARTITION);
	rows[0].partition = NULL;
	for (int i = 1; i < 4; i++) {
		rows[i].nodes = 1;
		rows[i].partition = "fast";
	}
	assert_int_equal(first(rows, 4).doubt, COMPACT_PARTITION);
	/* Those of the same partition come first. */
	rows[1].partition = rows[2].partition = NULL;
	c = first(rows, 4);
	assert_true(c.doubt == COMPACT_NONE && c.runs == 2);
}

/* The runs around a job count, 50 at most: programs change. */
static void nearest_runs(void **state)
{
	struct row rows[201] = {JOB("x")};
	struct compact c;

	(void)state;
	for (unsigned i = 1; i <= 200; i++) {
		rows[i] = (struct row)PLAIN(i + 1, "x", 110);
		rows[i].start = DAY1 + 1000 * ((long)i - 100);
		rows[i].elapsed = i < 60 || i > 140 ? 500 : 110;
	}
	c = first(rows, 201);
	assert_true(c.runs == 50 && near(c.run_s, 110) && near(c.apart, 0));
}

/* Alone on its lane a job loses nothing, so beside others it was slower than on the whole. */
static void while_sharing(void **state)
{
	struct row rows[] = {JOB("x"), PLAIN(2, "x", 120), PLAIN(3, "x", 120)};
	struct bills bills;
	struct plain_runs *runs;
	struct compact c;

	(void)state;
	rows[0].comment = PRICED("0.1", "0.5", "0.2", "9", "80");
	bills = bills_of(rows, 3);
	runs = plain_runs_find(&bills);
	c = compact_of(runs, &bills.bill[0]);
	assert_true(near(c.progress, 1.2));
	assert_true(near(compact_beside(&c, &bills.bill[0]), 1.2 * 0.8 / 0.9));
	assert_true(near(compact_stp(&c, &bills.bill[0], &c, &bills.bill[0]), 1.2 * 0.8 / 0.9));
	/* A plain run has no time beside co-runners. */
	assert_true(isnan(compact_beside(&c, &bills.bill[1])));
	plain_runs_free(runs);
	bills_free(&bills);
	plain_runs_free(NULL);
}

/* Half of a node is the job's while it has co-runners, the whole while it is alone. */
static void saved_node_seconds(void **state)
{
	static const struct {
		const char *co, *d;
		unsigned nodes;
		double saved; /* against 120 s on one node, by a run of 100 s */
	} cases[] = {
		{"1", "0.1", 2, 20},
		{"0", "0.0", 2, -80},
		{"0.5", "0.1", 2, -30},
		/* On more than two lanes it is not known how many had jobs. */
		{"1", "0.1", 3, NAN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char comment[256];
		struct row rows[] = {JOB("x"), PLAIN(2, "x", 120), PLAIN(3, "x", 120)};
		struct compact c;
		struct bills bills;
		double saved;

		snprintf(comment, sizeof(comment), "poppa: d=%s co=%s raw=9 charged=9 policy=none",
			cases[i].d, cases[i].co);
		rows[0].comment = comment;
		rows[0].nodes = cases[i].nodes;
		c = first(rows, 3);
		bills = bills_of(rows, 3);
		assert_true(compact_sure(&c) && near(c.node_s, 120));
		saved = compact_saved_node_s(&c, &bills.bill[0]);
		assert_true(isnan(cases[i].saved) ? isnan(saved) : near(saved, cases[i].saved));
		/* Not of what is in doubt, nor where the time beside others is not known. */
		c.doubt = COMPACT_ONE_RUN;
		assert_true(isnan(compact_saved_node_s(&c, &bills.bill[0])));
		bills_free(&bills);
		rows[0].comment = "poppa: nodata=no-record raw=9 charged=9 policy=none";
		bills = bills_of(rows, 3);
		c.doubt = COMPACT_NONE;
		assert_true(isnan(compact_saved_node_s(&c, &bills.bill[0])));
		bills_free(&bills);
	}
}

static void words(void **state)
{
	(void)state;
	assert_string_equal(compact_doubt_name(COMPACT_NONE), "");
	for (int i = COMPACT_NONE + 1; i < COMPACT_DOUBTS; i++)
		assert_true(*compact_doubt_name(i) && *compact_doubt_why(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_of_plain_runs),
		cmocka_unit_test(same_work),
		cmocka_unit_test(names_and_digits),
		cmocka_unit_test(doubts),
		cmocka_unit_test(nearest_runs),
		cmocka_unit_test(while_sharing),
		cmocka_unit_test(saved_node_seconds),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
