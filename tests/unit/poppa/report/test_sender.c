/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/report/sender.c, with a ledger that is but a function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/log.h"
#include "poppa/report/sender.h"

#define PATIENCE_S 60
#define A_WHILE_US 300000

int __wrap_client_send_records(const struct client *c, const struct ledger_record *records, int n,
	enum client_ack *ack, struct client_news *news, struct errmsg *err);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);

static char dir[] = "/tmp/test_sender.XXXXXX";
static struct spool spool;
static atomic_int asked;
static atomic_int verdict;    /* what the ledger says of each */
static atomic_bool read_only; /* the spool's file system */
static bool tells_prior;      /* the ledger has one */
static struct slow_prior told;

int __wrap_client_send_records(const struct client *c, const struct ledger_record *records, int n,
	enum client_ack *ack, struct client_news *news, struct errmsg *err)
{
	(void)records;
	err->text[0] = '\0';
	if (news) {
		*news = (struct client_news){"the-one", tells_prior, told};
		assert_string_equal(c->node_type, "a model");
	}
	asked++;
	for (int i = 0; i < n; i++)
		ack[i] = (enum client_ack)verdict;
	return verdict == CLIENT_PENDING ? errmsg_set(err, "nobody answers") : 0;
}

int __wrap_rename(const char *from, const char *to)
{
	if (!read_only)
		return __real_rename(from, to);
	errno = EROFS;
	return -1;
}

int __wrap_unlink(const char *path)
{
	if (!read_only)
		return __real_unlink(path);
	errno = EROFS;
	return -1;
}

static int64_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static int waiting(void)
{
	struct spool_counts n;

	spool_count(&spool, &n);
	return n.records;
}

static void wait_until_sent(void)
{
	for (int64_t end = seconds() + PATIENCE_S; waiting() && seconds() < end;)
		usleep(1000);
	assert_int_equal(waiting(), 0);
}

static struct sender *start(int records)
{
	struct client client = {.host = "here"};
	struct errmsg err = {""};
	struct sender *s;

	for (int i = 0; i < records; i++) {
		struct ledger_record r = {.cluster = "c",
			.node = "n",
			.method = "robust",
			.backend = "none",
			.job_id = (uint32_t)i + 1,
			.final = true,
			.degradation = NAN,
			.variance = NAN,
			.thesis_degradation = NAN};

		assert_int_equal(spool_record(&spool, &r, &err), 0);
	}
	asked = 0;
	s = sender_start(&spool, "a model", &err);
	assert_non_null(s);
	sender_ledger(s, &client);
	return s;
}

static void sends_all(void **state)
{
	struct sender *s;

	(void)state;
	verdict = CLIENT_ACKED;
	s = start(CLIENT_MAX_BATCH + 1);
	wait_until_sent();
	sender_stop(s);
	assert_int_equal(asked, 3); /* which one it is, and two batches */
}

static void keeps_what_is_refused_aside(void **state)
{
	struct spool_counts n;
	struct sender *s;

	(void)state;
	verdict = CLIENT_REFUSED;
	s = start(2);
	wait_until_sent();
	sender_stop(s);
	spool_count(&spool, &n);
	assert_int_equal(n.refused, 2);
}

/* It is sent again for as long as it is there, but not without a rest. */
static void rests_where_the_spool_is_read_only(void **state)
{
	static const enum client_ack verdicts[] = {CLIENT_ACKED, CLIENT_REFUSED, CLIENT_PENDING};

	(void)state;
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		int64_t began = seconds();
		struct sender *s;

		verdict = verdicts[i];
		s = start(3);
		read_only = true;
		while (!asked && seconds() < began + PATIENCE_S)
			usleep(1000);
		usleep(A_WHILE_US);
		assert_in_range(asked, 1, 4 + 2 * (seconds() - began));
		read_only = false;
		verdict = CLIENT_ACKED;
		sender_wake(s);
		wait_until_sent();
		sender_stop(s);
	}
}

static void say_nothing(enum plog_level level, const char *line)
{
	(void)level;
	(void)line;
}

static int lines_about_refill;

static void count_lines(enum plog_level level, const char *line)
{
	(void)level;
	lines_about_refill += strstr(line, "slow refill") != NULL;
}

/* The next prior from the ledger, which comes with an answer about a record. */
static void learn(struct slow_prior next)
{
	struct slow_prior now;
	struct sender *s;

	told = next;
	tells_prior = true;
	s = start(1);
	wait_until_sent();
	sender_stop(s);
	/* The last one before a restart. */
	tells_prior = false;
	s = start(0);
	sender_prior(s, &now);
	sender_stop(s);
	assert_true(slow_prior_distance(&now, &next) < 0.0011);
}

/* Each start begins with what the ledger said last; a line tells of much else only. */
static void keeps_the_ledgers_prior(void **state)
{
	struct slow_prior now;
	struct sender *s;

	(void)state;
	plog_set_sink(count_lines);
	verdict = CLIENT_ACKED;
	s = start(1);
	sender_prior(s, &now);
	assert_memory_equal(&now, &slow_prior_default, sizeof(now));
	wait_until_sent();
	sender_prior(s, &now);
	sender_stop(s);
	assert_memory_equal(&now, &slow_prior_default, sizeof(now));
	learn((struct slow_prior){{0.37, 0.58, 0.05}});
	assert_int_equal(lines_about_refill, 0);
	learn((struct slow_prior){{0.25, 0.65, 0.1}});
	assert_int_equal(lines_about_refill, 1);
	learn((struct slow_prior){{0.25, 0.65, 0.1}});
	learn((struct slow_prior){{0.2495, 0.6505, 0.1}});
	assert_int_equal(lines_about_refill, 1);
	plog_set_sink(say_nothing);
}

/* A checkpoint that a kill left half written is of no use; what is kept for people is. */
static void begins_without_leftovers(void **state)
{
	static const char *const gone[] = {"state/7.0.aB3dE9", "state/8.1.XyZ012"},
				 *const kept[] = {"records/8.1.refused", "records/9.0.bad",
					 "state/7.0", "records/notes.abcdef"};
	char path[128];
	struct errmsg err = {""};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, i < 2 ? gone[i] : kept[i - 2]);
		assert_int_equal(fsio_write(path, "{", 1, 0600, 0, &err), 0);
	}
	assert_int_equal(spool_open(&spool, dir, &err), 0);
	for (size_t i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, i < 2 ? gone[i] : kept[i - 2]);
		assert_int_equal(access(path, F_OK), i < 2 ? -1 : 0);
		unlink(path);
	}
}

static int make_spool(void **state)
{
	struct errmsg err = {""};

	(void)state;
	plog_set_sink(say_nothing);
	return !mkdtemp(dir) || spool_open(&spool, dir, &err);
}

static int remove_spool(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_all),
		cmocka_unit_test(keeps_what_is_refused_aside),
		cmocka_unit_test(keeps_the_ledgers_prior),
		cmocka_unit_test(rests_where_the_spool_is_read_only),
		cmocka_unit_test(begins_without_leftovers),
	};

	return cmocka_run_group_tests(tests, make_spool, remove_spool);
}
