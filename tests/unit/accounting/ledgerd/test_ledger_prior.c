/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/ledger_prior.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>

#include "accounting/ledgerd/ledger.h"
#include "unit/accounting/ledger_fixture.h"

#define NARROW slow_prior_default.weight[SLOW_NARROW]
#define WIDE slow_prior_default.weight[SLOW_WIDE]

static const double narrow[] = {0, 1, 0}, wide[] = {0, 0, 1};

/* The final record of a job of user 1000 on a node of this type. */
static struct ledger_record record_that_tells(
	uint32_t job, const char *node, const char *type, const double *likelihood)
{
	struct ledger_record r = record_of(job, node, 1);

	r.final = r.slow_known = true;
	snprintf(r.node_type, sizeof(r.node_type), "%s", type);
	memcpy(r.slow_likelihood, likelihood, sizeof(r.slow_likelihood));
	return r;
}

static void put(struct ledger *l, const struct ledger_record *r)
{
	struct errmsg err = {""};

	assert_int_equal(ledger_put(l, r, 1, "", NULL, &err), 0);
}

static void settle(struct ledger *l, uint32_t job, uint32_t uid, int64_t now)
{
	struct settlement s = settlement_of(job, 3600), got;
	struct errmsg err = {""};

	s.uid = uid;
	s.settled_unix = now;
	assert_true(ledger_settle(l, &s, 64, &got, &err) >= 0);
}

/* A job from its record to its price. */
static void run_job(
	struct ledger *l, uint32_t job, uint32_t uid, const char *type, const double *likelihood)
{
	struct ledger_record r = record_that_tells(job, "n1", type, likelihood);

	r.uid = uid;
	put(l, &r);
	settle(l, job, uid, 1000200 + job);
}

/* The weight of a hypothesis; -1 where nothing is known of the type. */
static double weight(struct ledger *l, const char *type, enum slow_hypothesis h)
{
	struct slow_prior p = {{-1, -1, -1}};
	struct errmsg err = {""};

	assert_true(ledger_prior(l, type, &p, &err) >= 0);
	return p.weight[h];
}

static void ignore_foreign(const char *node, const char *origin, void *arg)
{
	(void)node;
	(void)origin;
	(void)arg;
}

static int count(const char *table)
{
	char query[64];
	sqlite3 *db;
	sqlite3_stmt *st;
	int n;

	snprintf(query, sizeof(query), "SELECT count(*) FROM %s", table);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* A job tells once: when it gets its price. */
static void a_job_tells_once(void **state)
{
	struct ledger_record r = record_that_tells(5, "n1", "a", narrow);
	struct ledger *l = open_ledger();
	double learned;

	(void)state;
	put(l, &r);
	assert_true(weight(l, "a", SLOW_NARROW) == -1);
	settle(l, 5, 1000, 1000200);
	learned = weight(l, "a", SLOW_NARROW);
	/* One vote of five, in which the default stands for half a job of one and a half. */
	assert_float_equal(learned, NARROW + (1 - NARROW) / 1.5 / 5, 1e-9);
	assert_true(weight(l, "b", SLOW_NARROW) == -1);
	/* Not when it is sent again, settled again, or later than its price; and it is on the disk.
	 */
	put(l, &r);
	settle(l, 5, 1000, 1000200);
	strcpy(r.node, "n2");
	put(l, &r);
	settle(l, 5, 1000, 1000300);
	assert_true(weight(l, "a", SLOW_NARROW) == learned);
	ledger_close(l);
	l = open_ledger();
	assert_true(weight(l, "a", SLOW_NARROW) == learned);
	ledger_close(l);
	assert_int_equal(check_ledger(path).faults, 0);
}

/* Many nodes of one job are one job; nodes of another type tell of that type. */
static void nodes_of_a_job_tell_together(void **state)
{
	struct ledger *l = open_ledger();
	double one;

	(void)state;
	run_job(l, 5, 1000, "one", narrow);
	one = weight(l, "one", SLOW_NARROW);
	for (int i = 0; i < 40; i++) {
		char node[16];
		struct ledger_record r;

		snprintf(node, sizeof(node), "m%02d", i);
		r = record_that_tells(6, node, i % 2 ? "odd" : "even", i % 2 ? narrow : wide);
		put(l, &r);
	}
	settle(l, 6, 1000, 1000300);
	assert_float_equal(weight(l, "odd", SLOW_NARROW), one, 1e-12);
	assert_float_equal(weight(l, "even", SLOW_WIDE), WIDE + (1 - WIDE) / 1.5 / 5, 1e-9);
	ledger_close(l);
}

/* What slurmctld does not vouch for, is not final, or is no likelihood, tells nothing. */
static void strangers_tell_nothing(void **state)
{
	static const char *const types[] = {
		"interim", "uid", "sum", "null", "unknown", "foreign", "senses"};
	struct ledger *l = open_ledger();
	json_t *nodes = json_pack("[{s:s, s:[s]}]", "name", "n1", "addresses", "10.0.0.1");
	struct errmsg err = {""};

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		struct ledger_record r = record_that_tells(i + 1, "n1", types[i], wide);

		r.final = i != 0;
		r.uid += i == 1;
		r.slow_likelihood[0] = i == 2 ? 0.1 : i == 3 ? NAN : 0;
		r.slow_known = i != 4;
		r.sensing = i == 6;
		assert_int_equal(
			ledger_put(l, &r, 1, i == 5 ? "10.0.0.2" : "10.0.0.1", NULL, &err), 0);
		if (i == 5)
			assert_int_equal(ledger_mark_foreign(l, "c", i + 1, 0, 1000000, NULL, nodes,
						 ignore_foreign, NULL, &err),
				1);
		settle(l, i + 1, 1000, 1000200);
		assert_true(weight(l, types[i], SLOW_WIDE) == -1);
	}
	run_job(l, 8, 1000, "", wide);
	assert_int_equal(count("slow_vote"), 0);
	json_decref(nodes);
	ledger_close(l);
}

static void a_user_has_one_vote(void **state)
{
	struct ledger *l = open_ledger();

	(void)state;
	for (uint32_t job = 1; job <= 100; job++)
		run_job(l, job, 1000, "a", wide);
	assert_true(weight(l, "a", SLOW_WIDE) <= WIDE + 1 / 5.0);
	for (uint32_t job = 101; job <= 106; job++)
		run_job(l, job, job, "a", narrow);
	assert_true(weight(l, "a", SLOW_WIDE) <= WIDE + 1 / 11.0);
	assert_true(weight(l, "a", SLOW_NARROW) > 0.45);
	ledger_close(l);
}

/* Those that were used last stay. */
static void tables_are_bounded(void **state)
{
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	uint32_t job = 0;

	(void)state;
	assert_int_equal(ledger_group(l, &err), 0);
	for (uint32_t uid = 1; uid <= LEDGER_MAX_VOTES + 10; uid++)
		run_job(l, ++job, uid, "a", narrow);
	assert_int_equal(ledger_commit(l, &err), 0);
	assert_int_equal(count("slow_vote"), LEDGER_MAX_VOTES);
	assert_int_equal(ledger_group(l, &err), 0);
	for (int i = 0; i < LEDGER_MAX_TYPES; i++) {
		char type[32];

		snprintf(type, sizeof(type), "type %d", i);
		run_job(l, ++job, 7, type, narrow);
	}
	assert_int_equal(ledger_commit(l, &err), 0);
	assert_true(weight(l, "a", SLOW_NARROW) == -1);
	assert_true(weight(l, "type 0", SLOW_NARROW) > 0);
	assert_int_equal(count("slow_prior"), LEDGER_MAX_TYPES);
	assert_int_equal(count("slow_vote"), LEDGER_MAX_TYPES);
	ledger_close(l);
	assert_int_equal(check_ledger(path).faults, 0);
}

/* What is taken back with its price has not been told. */
static void a_group_that_fails_tells_nothing(void **state)
{
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	run_job(l, 1, 1000, "a", narrow);
	assert_int_equal(ledger_group(l, &err), 0);
	run_job(l, 2, 1001, "b", narrow);
	assert_true(weight(l, "b", SLOW_NARROW) > NARROW);
	ledger_close(l); /* as a crash does */
	l = open_ledger();
	assert_true(weight(l, "b", SLOW_NARROW) == -1);
	assert_true(weight(l, "a", SLOW_NARROW) > NARROW);
	/* Somebody writes nonsense into the file. */
	change_ledger("UPDATE slow_prior SET wide = 7; UPDATE slow_vote SET wide = -7");
	assert_true(weight(l, "a", SLOW_NARROW) == -1);
	assert_int_equal(check_ledger(path).faults, 1);
	assert_non_null(strstr(fault_lines, "the prior of nodes of type \"a\" is not valid"));
	run_job(l, 3, 1000, "a", narrow);
	assert_float_equal(weight(l, "a", SLOW_NARROW), NARROW + (1 - NARROW) / 1.5 / 5, 1e-9);
	ledger_close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(a_job_tells_once),
		LEDGER_TEST(nodes_of_a_job_tell_together),
		LEDGER_TEST(strangers_tell_nothing),
		LEDGER_TEST(a_user_has_one_vote),
		LEDGER_TEST(tables_are_bounded),
		LEDGER_TEST(a_group_that_fails_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
