/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the cost of a miss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "striping/history/miss_cost.h"

#define DAY 86400LL

static int make(void **state)
{
	*state = miss_costs_new();
	return *state ? 0 : -1;
}

static int drop(void **state)
{
	miss_costs_free(*state);
	return 0;
}

static int learn(
	struct miss_costs *t, const char *class_name, double base, double miss, long long now)
{
	const struct miss_run run = {7, class_name, base, miss};

	return miss_costs_learn(t, &run, now);
}

static struct miss_cost cost(const struct miss_costs *t, const char *class_name)
{
	struct miss_cost c;
	bool sure = miss_costs_of(t, class_name, &c);

	assert_int_equal(sure, c.doubt == MISS_SURE);
	return c;
}

/* Of two, log(1.1) is off the mean: the variance of one is twice its square, and half of that the
 * mean's. */
static void mean_of_runs(void **state)
{
	struct miss_costs *t = *state;
	struct miss_cost c = cost(t, "7@lu");

	assert_int_equal(c.doubt, MISS_NO_RUN);
	assert_string_equal(miss_doubt_name(c.doubt), "no-run");
	assert_true(isnan(c.miss_cycles) && isnan(c.base_cycles) && isnan(c.miss_error));
	assert_int_equal(learn(t, "7@lu", 0.8 * 1.2, 50 * 1.1, 1), 1);
	c = cost(t, "7@lu");
	assert_int_equal(c.doubt, MISS_ONE_RUN);
	assert_string_equal(miss_doubt_name(c.doubt), "one-run");
	assert_float_equal(c.miss_cycles, 55, 1e-9);
	assert_true(isnan(c.miss_error) && isnan(c.base_error));
	assert_int_equal(learn(t, "7@lu+4n", 0.8 / 1.2, 50 / 1.1, 2), 1);
	c = cost(t, "7@lu");
	assert_int_equal(c.doubt, MISS_SURE);
	assert_string_equal(miss_doubt_name(c.doubt), "");
	assert_int_equal(c.runs, 2);
	assert_float_equal(c.base_cycles, 0.8, 1e-9);
	assert_float_equal(c.miss_cycles, 50, 1e-9);
	assert_float_equal(c.base_error, log(1.2), 1e-9);
	assert_float_equal(c.miss_error, log(1.1), 1e-9);
	/* Variants are the class, and no other is. */
	assert_float_equal(cost(t, "7@lu+64n+2x8x1").miss_cycles, 50, 1e-9);
	assert_int_equal(cost(t, "7@lu2").doubt, MISS_NO_RUN);
	assert_int_equal(cost(t, "7@l").doubt, MISS_NO_RUN);
	assert_int_equal(cost(t, "70@lu").doubt, MISS_NO_RUN);
	assert_int_equal(cost(t, "lu").doubt, MISS_NO_RUN);
	assert_int_equal(cost(t, "").doubt, MISS_NO_RUN);
}

static void no_run_is_exact(void **state)
{
	struct miss_costs *t = *state;

	learn(t, "7@lu", 1, 50, 1);
	learn(t, "7@lu", 1, 50, 1);
	assert_float_equal(cost(t, "7@lu").miss_error, 0.05 / sqrt(2), 1e-9);
}

/* Either number may say that the runs are not of one program. */
static void apart(void **state)
{
	struct miss_costs *t = *state;
	struct miss_cost c;

	learn(t, "7@a", 1, 50, 1);
	learn(t, "7@a", 1, 100, 1);
	c = cost(t, "7@a");
	assert_int_equal(c.doubt, MISS_APART);
	assert_string_equal(miss_doubt_name(c.doubt), "apart");
	assert_float_equal(c.miss_cycles, sqrt(50 * 100), 1e-9);
	learn(t, "7@b", 1, 50, 1);
	learn(t, "7@b", 2, 50, 1);
	assert_int_equal(cost(t, "7@b").doubt, MISS_APART);
	learn(t, "7@c", 1, 50, 1);
	learn(t, "7@c", 1.7, 50 * 1.7, 1);
	assert_int_equal(cost(t, "7@c").doubt, MISS_SURE);
}

static void ages(void **state)
{
	struct miss_costs *t = *state;

	for (int i = 0; i < 100; i++)
		learn(t, "7@lu", 1, 50, i);
	assert_int_equal(cost(t, "7@lu").runs, MISS_COST_RUNS);
	/* After 60 days three quarters have faded. */
	learn(t, "7@lu", 1, 75, 100 + 60 * DAY);
	assert_float_equal(cost(t, "7@lu").miss_cycles, 50 * pow(1.5, 0.75), 0.01);
	/* Others tell the time: after 90 days nothing is known. */
	learn(t, "7@other", 1, 50, 100 + 150 * DAY);
	assert_int_equal(cost(t, "7@lu").doubt, MISS_SURE);
	learn(t, "7@other", 1, 50, 100 + 151 * DAY);
	assert_int_equal(cost(t, "7@lu").doubt, MISS_NO_RUN);
	/* A wrong clock is set right. */
	miss_costs_no_later(t, 100 + 150 * DAY);
	assert_int_equal(cost(t, "7@lu").doubt, MISS_SURE);
}

static void refused(void **state)
{
	struct miss_costs *t = *state;

	assert_int_equal(learn(t, "8@lu", 1, 50, 1), 0);
	assert_int_equal(learn(t, "lu", 1, 50, 1), 0);
	assert_int_equal(learn(t, "", 1, 50, 1), 0);
	assert_int_equal(learn(t, "99999999999@lu", 1, 50, 1), 0);
	assert_int_equal(learn(t, "7@lu", 0, 50, 1), 0);
	assert_int_equal(learn(t, "7@lu", NAN, 50, 1), 0);
	assert_int_equal(learn(t, "7@lu", 101, 50, 1), 0);
	assert_int_equal(learn(t, "7@lu", 1, 0.9, 1), 0);
	assert_int_equal(learn(t, "7@lu", 1, 10001, 1), 0);
	assert_int_equal(learn(t, "7@lu", 1, INFINITY, 1), 0);
	assert_int_equal(learn(t, "7@lu", MISS_COST_BASE_MIN, MISS_COST_CYCLES_MAX, 1), 1);
}

static void count_row(const char *class_name, const struct miss_cost *c, void *arg)
{
	(void)class_name;
	assert_int_equal(c->doubt, MISS_ONE_RUN);
	++*(int *)arg;
}

static int rows(const struct miss_costs *t)
{
	int count = 0;

	miss_costs_each(t, count_row, &count);
	return count;
}

/* A user's new classes push out this user's oldest ones, and nobody else's. */
static void bounds_of_a_user(void **state)
{
	struct miss_costs *t = *state;
	const struct miss_run other = {8, "8@lu", 1, 50};
	char name[32];

	assert_int_equal(miss_costs_learn(t, &other, 1), 1);
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "7@p%d", (i * 7) % 60);
		assert_int_equal(learn(t, name, 1, 50, 2 + i), 1);
	}
	assert_int_equal(rows(t), 51);
	assert_int_equal(cost(t, "8@lu").doubt, MISS_ONE_RUN);
	assert_int_equal(cost(t, "7@p0").doubt, MISS_NO_RUN);
	assert_int_equal(cost(t, "7@p3").doubt, MISS_NO_RUN);   /* the tenth */
	assert_int_equal(cost(t, "7@p10").doubt, MISS_ONE_RUN); /* the eleventh */
}

static void bounds_of_all(void **state)
{
	struct miss_costs *t = *state;

	for (uint32_t uid = 0; uid < 110; uid++)
		for (int i = 0; i < (uid ? 48 : 2); i++) {
			char name[32];
			struct miss_run run = {uid, name, 1, 50};

			snprintf(name, sizeof(name), "%u@p%d", uid, i);
			assert_int_equal(miss_costs_learn(t, &run, uid), 1);
		}
	assert_int_equal(rows(t), 5000);
	assert_int_equal(cost(t, "0@p0").doubt, MISS_ONE_RUN);
	assert_int_equal(cost(t, "109@p47").doubt, MISS_ONE_RUN);
}

/* What is written, as text. */
static char *written(const struct miss_costs *t)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	miss_costs_write(t, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

static bool takes(struct miss_costs *t, const char *line)
{
	char copy[600];

	snprintf(copy, sizeof(copy), MISS_COST_LINE "%s", line);
	return miss_costs_read(t, copy);
}

static void lines(void **state)
{
	struct miss_costs *t = *state, *again = miss_costs_new();
	char *text, *once, *save = NULL;

	learn(t, "7@lu", 0.8, 50, 3);
	learn(t, "7@lu", 0.9, 60, 5);
	learn(t, "7/a job", MISS_COST_BASE_MIN, MISS_COST_CYCLES_MAX, 4);
	learn(t, "7:x", MISS_COST_BASE_MAX, MISS_COST_CYCLES_MIN, 4);
	text = written(t);
	once = strdup(text);
	assert_non_null(once);
	assert_non_null(strstr(text, "#miss\t7@lu\t2\t0.848528\t"));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_true(miss_costs_read(again, line));
	free(text);
	text = written(again);
	assert_string_equal(text, once);
	assert_float_equal(cost(again, "7@lu").miss_cycles, sqrt(50 * 60), 1e-3);
	free(text);
	free(once);
	miss_costs_free(again);
}

static void hostile_lines(void **state)
{
	struct miss_costs *t = *state;
	char name[400], line[512];

	assert_false(takes(t, ""));
	assert_false(takes(t, "7@lu"));
	assert_false(takes(t, "7@lu\t2\t1\t0\t50\t0"));
	assert_false(takes(t, "7@lu\t2\t1\t0\t50\t0\t5\t6"));
	assert_false(takes(t, "lu\t2\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "\t2\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu+4n\t2\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "99999999999@lu\t2\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu\t0\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu\t11\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu\t1.5\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu\tnan\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu\t2\tnan\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu\t2\t0\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu\t2\t1\t-1\t50\t0\t5"));
	assert_false(takes(t, "7@lu\t2\t1\t0\tinf\t0\t5"));
	assert_false(takes(t, "7@lu\t2\t1\t0\t1e5\t0\t5"));
	assert_false(takes(t, "7@lu\t2\t1\t0\t50\t1e9\t5"));
	assert_false(takes(t, "7@lu\t2\t1\t0\t50\t0\tx"));
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(line, sizeof(line), "7@%s\t2\t1\t0\t50\t0\t5", name);
	assert_false(takes(t, line));
	assert_int_equal(rows(t), 0);
	assert_true(takes(t, "7@lu\t2\t1\t0\t50\t0\t5"));
	assert_false(takes(t, "7@lu\t3\t1\t0\t50\t0\t5"));
	assert_int_equal(cost(t, "7@lu").runs, 2);
	/* Times that no clock has. */
	assert_true(takes(t, "7@past\t2\t1\t0\t50\t0\t-9223372036854775808"));
	assert_true(takes(t, "7@future\t2\t1\t0\t50\t0\t9223372036854775807"));
	assert_int_equal(cost(t, "7@lu").doubt, MISS_NO_RUN);
	miss_costs_no_later(t, 10);
	assert_int_equal(cost(t, "7@lu").doubt, MISS_SURE);
	assert_int_equal(learn(t, "7@past", 1, 100, 11), 1);
	assert_float_equal(cost(t, "7@past").miss_cycles, 100, 0.01);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mean_of_runs),
		TEST(no_run_is_exact),
		TEST(apart),
		TEST(ages),
		TEST(refused),
		TEST(bounds_of_a_user),
		TEST(bounds_of_all),
		TEST(lines),
		TEST(hostile_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
