/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of who may ask the ledger what, and from where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounting/ledgerd/ledger_file.h"
#include "accounting/ledgerd/service.h"
#include "accounting/record/wire.h"

#include "unit/accounting/ledger_fixture.h"

static json_t *ask(struct service *s, json_t *request, uid_t from, bool ok)
{
	json_t *reply;

	json_object_set_new(request, "nonce", json_string("abc"));
	reply = service_answer(s, request, from);
	json_decref(request);
	assert_non_null(reply);
	assert_string_equal(json_string_value(json_object_get(reply, "nonce")), "abc");
	assert_int_equal(json_is_true(json_object_get(reply, "ok")), ok);
	assert_int_equal(json_is_string(json_object_get(reply, "error")), !ok);
	return reply;
}

static json_t *record_request(const struct ledger_record *r)
{
	return json_pack("{s:s, s:[o]}", "op", "record", "records", record_to_json(r));
}

static json_t *job_request(int job)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:i}", "op", "job", "cluster", "c", "job", job,
		"restart", 0, "start", 0);
}

static json_t *settle_request(const struct settlement *s)
{
	return json_pack("{s:s, s:o}", "op", "settle", "settlement", settlement_to_json(s));
}

static void who_may_what(void **state)
{
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64};
	struct ledger_record r = record_of(5, "n1", 1);
	struct settlement settlement = settlement_of(5, 3600);
	static const uid_t trusted[] = {0, 64}, others[] = {1, 1000, 1001, (uid_t)-1};
	json_t *reply;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		json_decref(ask(&s, record_request(&r), others[i], false));
		json_decref(ask(&s, settle_request(&settlement), others[i], false));
		json_decref(ask(&s, json_pack("{s:s, s:s}", "op", "unsettled", "cluster", "c"),
			others[i], false));
		json_decref(ask(&s, json_pack("{s:s}", "op", "status"), others[i], true));
	}
	assert_int_equal(s.counts.refused, 12);
	/* Nor does a stranger learn what there is to ask for. */
	json_decref(ask(&s, json_pack("{s:s}", "op", "fly"), 1000, false));
	assert_int_equal(s.counts.refused, 13);
	assert_int_equal(s.counts.malformed, 0);
	assert_int_equal(s.counts.records, 0);
	for (size_t i = 0; i < 2; i++) {
		json_decref(ask(&s, record_request(&r), trusted[i], true));
		json_decref(ask(&s, job_request(5), trusted[i], true));
		json_decref(ask(&s, json_pack("{s:s, s:s}", "op", "unsettled", "cluster", "c"),
			trusted[i], true));
		reply = ask(&s, settle_request(&settlement), trusted[i], true);
		assert_int_equal(json_is_true(json_object_get(reply, "first")), i == 0);
		json_decref(reply);
	}
	assert_int_equal(s.counts.records, 1);
	assert_int_equal(s.counts.stale_records, 1);
	assert_int_equal(s.counts.settlements, 1);
	assert_int_equal(s.counts.repeated_settlements, 1);
	/* The owner sees the job. */
	reply = ask(&s, job_request(5), 1000, true);
	assert_int_equal(json_array_size(json_object_get(reply, "records")), 1);
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(reply, "settlement"), "charged")),
		3600);
	json_decref(reply);
	ledger_close(s.ledger);
}

/* A job that the ledger does not know yet may be the asker's own: nobody is refused or accused for
 * asking about it. Another's job looks the same, but who asks about that is counted. */
static void owners_may_ask_early(void **state)
{
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64};
	struct ledger_record r = record_of(5, "n1", 1);
	struct settlement settlement = settlement_of(5, 3600);
	json_t *unknown = ask(&s, job_request(5), 1000, true), *reply;

	(void)state;
	assert_int_equal(json_array_size(json_object_get(unknown, "records")), 0);
	assert_true(json_is_null(json_object_get(unknown, "settlement")));
	assert_int_equal(s.counts.refused, 0);
	json_decref(ask(&s, record_request(&r), 0, true));
	reply = ask(&s, job_request(5), 1001, true);
	assert_true(json_equal(reply, unknown));
	assert_int_equal(s.counts.refused, 1);
	json_decref(reply);
	json_decref(ask(&s, settle_request(&settlement), 0, true));
	reply = ask(&s, job_request(5), 1001, true);
	assert_true(json_equal(reply, unknown));
	assert_int_equal(s.counts.refused, 2);
	json_decref(reply);
	json_decref(unknown);
	ledger_close(s.ledger);
}

/* The one record of job 5 in the answer to this user. */
static struct ledger_record seen_by(struct service *s, uid_t from)
{
	json_t *reply = ask(s, job_request(5), from, true);
	const json_t *records = json_object_get(reply, "records");
	struct errmsg err = {""};
	struct ledger_record r;

	assert_int_equal(json_array_size(records), 1);
	assert_int_equal(record_from_json(json_array_get(records, 0), &r, &err), 0);
	json_decref(reply);
	return r;
}

static void assert_whole(const struct ledger_record *r)
{
	assert_true(r->sensing && r->spin && r->attributed);
	assert_int_equal(r->blocks, 9);
	assert_int_equal(r->used, 8);
	assert_int_equal(r->culprit, 7);
	assert_float_equal(r->degradation, 0.4, 1e-9);
	assert_float_equal(r->variance, 0.01, 1e-9);
	assert_float_equal(r->thesis_degradation, 0.3, 1e-9);
	assert_int_equal(r->lack, LACK_PRECISION);
}

/* While a job runs, its owner could tell by its records which shutter was a sham, and whether that
 * has caught the job: so they see nothing of shutters. */
static void users_see_no_block_of_a_running_job(void **state)
{
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64};
	struct ledger_record r = record_of(5, "n1", 1), seen;
	struct settlement settlement = settlement_of(5, 3600);

	(void)state;
	r.final = false;
	r.sensing = r.spin = r.attributed = r.slow_known = true;
	r.blocks = 9;
	r.used = 8;
	r.variance = 0.01;
	r.thesis_degradation = 0.3;
	r.lack = LACK_PRECISION;
	r.culprit = 7;
	r.partner_count = 1;
	r.partner[0] = 7;
	json_decref(ask(&s, record_request(&r), 0, true));
	seen = seen_by(&s, 64);
	assert_whole(&seen);
	seen = seen_by(&s, 1000);
	assert_false(seen.sensing);
	assert_false(seen.spin || seen.attributed || seen.slow_known);
	assert_int_equal(seen.blocks + seen.used + seen.culprit, 0);
	assert_true(isnan(seen.degradation) && isnan(seen.variance));
	assert_true(isnan(seen.thesis_degradation));
	assert_int_equal(seen.lack, LACK_NOTHING);
	assert_int_equal(seen.co_ns, r.co_ns);
	assert_int_equal(seen.partner[0], 7);
	/* The final one is what the price is made of. */
	r.final = true;
	r.seq = 2;
	json_decref(ask(&s, record_request(&r), 0, true));
	seen = seen_by(&s, 1000);
	assert_whole(&seen);
	ledger_close(s.ledger);
	/* So is the last one of a node that was lost. */
	unlink(path);
	s = (struct service){.ledger = open_ledger(), .ledger_uid = 64};
	r.final = false;
	json_decref(ask(&s, record_request(&r), 0, true));
	json_decref(ask(&s, settle_request(&settlement), 0, true));
	seen = seen_by(&s, 1000);
	assert_whole(&seen);
	ledger_close(s.ledger);
}

/* Who sends records learns the prior of its nodes' type, where there is one. */
static void records_are_answered_with_the_prior(void **state)
{
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64};
	struct settlement settlement = settlement_of(5, 3600);
	struct ledger_record r = record_of(5, "n1", 1);
	static const char *const types[] = {"a", "b", ""};
	json_t *request, *reply, *prior;

	(void)state;
	r.final = r.slow_known = true;
	strcpy(r.node_type, "a");
	r.slow_likelihood[SLOW_NARROW] = 1;
	for (int settled = 0; settled < 2; settled++) {
		for (int i = 0; i < 3; i++) {
			request = record_request(&r);
			json_object_set_new(request, "node_type", json_string(types[i]));
			reply = ask(&s, request, 0, true);
			prior = json_object_get(reply, "prior");
			assert_int_equal(json_is_object(prior), settled && i == 0);
			assert_true(
				!prior || json_real_value(json_object_get(prior, "narrow")) > 0.33);
			json_decref(reply);
		}
		json_decref(ask(&s, settle_request(&settlement), 0, true));
	}
	/* A request with nonsense, and one without a type, store their records all the same. */
	r.seq = 7;
	r.job_id = 6;
	request = record_request(&r);
	json_object_set_new(request, "node_type", json_integer(7));
	reply = ask(&s, request, 0, true);
	assert_null(json_object_get(reply, "prior"));
	json_decref(reply);
	assert_int_equal(s.counts.records, 2);
	ledger_close(s.ledger);
}

/* Part of an answer about job 5, of which `got` records have been seen; NULL when it was the last.
 */
static json_t *next_part(
	struct service *s, const char *after, const char *upto, json_t *nodes, int *got, uid_t from)
{
	json_t *request = job_request(5), *reply, *more;
	char *text;

	json_object_set_new(request, "after", json_string(after));
	if (upto)
		json_object_set_new(request, "upto", json_string(upto));
	if (nodes)
		json_object_set(request, "nodes", nodes);
	reply = ask(s, request, from, true);
	text = json_dumps(reply, JSON_COMPACT);
	/* MUNGE writes three bytes as four, and may not compress. */
	assert_true(strlen(text) / 3 * 4 < WIRE_MAX_LINE - 4096);
	free(text);
	*got += (int)json_array_size(json_object_get(reply, "records"));
	more = json_incref(json_object_get(reply, "more"));
	json_decref(reply);
	return more;
}

/* A job may have had any number of nodes, and partners on each of them. */
static void as_many_nodes_as_there_are(void **state)
{
	enum { NODES = 1000 };
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64, .origin = "local"};
	json_t *more = json_string(""), *nodes = json_array(), *own = json_array();
	char name[64];
	int got = 0, parts = 0;

	(void)state;
	for (int i = 0; i < NODES; i++) {
		struct ledger_record r;

		snprintf(name, sizeof(name), "node-with-a-long-name-of-%04d.cluster.example", i);
		r = record_of(5, name, 1);
		r.partner_count = RECORD_MAX_PARTNERS;
		r.attributed = true;
		for (int k = 0; k < RECORD_MAX_PARTNERS; k++) {
			r.partner[k] = 4000000000u + (uint32_t)k;
			r.partner_degradation[k] = 1.0 / (k + 3);
		}
		json_decref(ask(&s, record_request(&r), 0, true));
		json_array_append_new(
			nodes, json_pack("{s:s, s:[s]}", "name", name, "addresses", "127.0.0.1"));
	}
	while (more) {
		json_t *last = more;

		more = next_part(&s, json_string_value(last), NULL, NULL, &got, 1000);
		json_decref(last);
		parts++;
	}
	assert_int_equal(got, NODES);
	assert_int_equal(parts, NODES / 100);
	/* A user's own end does not make a part longer; one that is nearer is kept. */
	got = 0;
	more = next_part(&s, "", "~", NULL, &got, 1000);
	assert_int_equal(got, 100);
	assert_non_null(more);
	json_decref(more);
	got = 0;
	assert_null(next_part(&s, "",
		json_string_value(json_object_get(json_array_get(nodes, 6), "name")), NULL, &got,
		1000));
	assert_int_equal(got, 7);
	/* slurmctld tells in parts, too, whose they are, and what is between them is of no node. */
	json_array_append(own, json_array_get(nodes, 0));
	json_array_append(own, json_array_get(nodes, 2));
	got = 0;
	assert_null(next_part(&s, "",
		json_string_value(json_object_get(json_array_get(nodes, 2), "name")), own, &got,
		0));
	assert_int_equal(got, 2);
	assert_int_equal(s.counts.foreign_records, 1);
	got = 0;
	more = next_part(&s, "", NULL, NULL, &got, 0);
	assert_int_equal(got, 99);
	json_decref(more);
	json_decref(own);
	json_decref(nodes);
	ledger_close(s.ledger);
}

/* What the log has about refusals, and how many it says to have left out. */
static int refusal_lines;
static int refusals_told;

static void read_refusals(enum plog_level level, const char *line)
{
	int n;

	(void)level;
	refusal_lines++;
	if (sscanf(line, "%d more refusals were not logged", &n) == 1)
		refusals_told += n;
	else
		refusals_told += !strncmp(line, "refused ", 8);
}

/* A user who asks for what is not theirs does not fill the administrator's log. */
static void refusals_are_logged_sparsely(void **state)
{
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64, .origin = "10.0.0.1"};
	struct settlement wanted = settlement_of(5, 3600);

	(void)state;
	refusal_lines = refusals_told = 0;
	plog_set_sink(read_refusals);
	for (int i = 0; i < 500; i++) {
		json_decref(ask(&s, settle_request(&wanted), 1000, false));
		json_decref(ask(&s, settle_request(&wanted), 0, false));
	}
	service_log_left_out(&s);
	plog_set_sink(quiet);
	assert_int_equal(s.counts.refused + s.counts.misplaced, 1000);
	assert_int_equal(refusals_told, 1000);
	/* It may have been in two minutes. */
	assert_true(refusal_lines <= 2 * (LOG_LIMIT_A_MINUTE + 2));
	ledger_close(s.ledger);
}

static void bad_requests(void **state)
{
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64};
	static const char *const bad[] = {"{}", "{\"op\":7}", "{\"op\":\"fly\"}",
		"{\"op\":\"record\"}", "{\"op\":\"record\",\"records\":7}", "{\"op\":\"job\"}",
		"{\"op\":\"job\",\"cluster\":\"c\",\"job\":-1,\"restart\":0,\"start\":0}",
		"{\"op\":\"settle\"}", "{\"op\":\"settle\",\"settlement\":[]}",
		"{\"op\":\"unsettled\"}"};
	struct ledger_record good = record_of(5, "n1", 1);
	json_t *reply, *many, *results;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *request = json_loads(bad[i], 0, NULL);

		json_object_set_new(request, "nonce", json_string("x"));
		reply = service_answer(&s, request, 0);
		assert_true(json_is_false(json_object_get(reply, "ok")));
		json_decref(reply);
		json_decref(request);
	}
	assert_int_equal(s.counts.malformed, sizeof(bad) / sizeof(bad[0]));
	/* One bad record in a batch is refused by name, the others are stored. */
	many = json_pack("{s:s, s:[o,{},o]}", "op", "record", "records", record_to_json(&good),
		record_to_json(&good));
	reply = ask(&s, many, 0, true);
	results = json_object_get(reply, "results");
	assert_int_equal(json_array_size(results), 3);
	assert_true(json_is_true(json_object_get(json_array_get(results, 0), "ok")));
	assert_true(json_is_false(json_object_get(json_array_get(results, 1), "ok")));
	assert_true(json_is_true(json_object_get(json_array_get(results, 2), "ok")));
	json_decref(reply);
	many = json_array();
	for (int i = 0; i <= 1000; i++)
		json_array_append_new(many, json_object());
	json_decref(ask(&s, json_pack("{s:s, s:o}", "op", "record", "records", many), 0, false));
	ledger_close(s.ledger);
}

static int64_t refused_of(json_t *status, const char *kind)
{
	return json_integer_value(json_object_get(
		json_object_get(json_object_get(status, "refused"), kind), "count"));
}

static void no_fault(const char *text, void *arg)
{
	(void)arg;
	fail_msg("%s", text);
}

static int refusals_in_file(void)
{
	struct ledger_check found;
	struct errmsg err = {""};

	assert_int_equal(ledger_file_check(path, NULL, &found, no_fault, NULL, &err), 0);
	return (int)found.refusal_count;
}

static void what_is_refused_is_counted(void **state)
{
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64, .origin = "10.0.0.1"};
	struct ledger_record r = record_of(5, "n1", 1);
	json_t *reply, *nodes;

	(void)state;
	json_decref(ask(&s, record_request(&r), 1000, false));
	r.end_unix = (int64_t)time(NULL) + 2 * LEDGER_CLOCK_SLACK_S;
	reply = ask(&s, record_request(&r), 0, true);
	assert_true(json_is_false(
		json_object_get(json_array_get(json_object_get(reply, "results"), 0), "ok")));
	json_decref(reply);
	/* From an address that is not the node's: stored, and left out when slurmctld asks. */
	r.end_unix = 1000100;
	reply = ask(&s, record_request(&r), 0, true);
	assert_string_equal(
		json_string_value(json_object_get(reply, "ledger")), ledger_id(s.ledger));
	json_decref(reply);
	/* Who owns the job may not say who its nodes are. */
	nodes = json_pack("[{s:s, s:[s]}]", "name", "n1", "addresses", "10.0.0.2");
	reply = job_request(5);
	json_object_set(reply, "nodes", nodes);
	reply = ask(&s, reply, 1000, true);
	assert_int_equal(json_array_size(json_object_get(reply, "records")), 1);
	json_decref(reply);
	reply = job_request(5);
	json_object_set(reply, "nodes", nodes);
	json_decref(ask(&s, reply, 64, false));
	s.origin = "local";
	reply = job_request(5);
	json_object_set_new(reply, "nodes", nodes);
	reply = ask(&s, reply, 64, true);
	assert_int_equal(json_array_size(json_object_get(reply, "records")), 0);
	json_decref(reply);
	for (int fault = WIRE_MALFORMED; fault < WIRE_FAULTS; fault++)
		service_refused_line(&s, (enum wire_fault)fault);
	for (int i = 0; i < 2; i++) {
		reply = ask(&s, json_pack("{s:s}", "op", "status"), 1000, true);
		assert_int_equal(refused_of(reply, "not_allowed"), 1);
		assert_int_equal(refused_of(reply, "not_from_controller"), 1);
		assert_int_equal(refused_of(reply, "future_records"), 1);
		assert_int_equal(refused_of(reply, "foreign_records"), 1);
		assert_int_equal(refused_of(reply, "malformed"), 1);
		assert_int_equal(refused_of(reply, "oversized"), 1);
		assert_int_equal(refused_of(reply, "invalid"), 1);
		assert_int_equal(refused_of(reply, "replayed"), 1);
		assert_int_equal(refused_of(reply, "expired"), 1);
		json_decref(reply);
	}
	ledger_close(s.ledger);
	assert_int_equal(refusals_in_file(), 9);
}

/* Root of a node has the cluster's key, and may send records; prices are the controllers'. */
static void prices_come_from_controllers(void **state)
{
	struct service s = {.ledger = open_ledger(), .ledger_uid = 64, .origin = "10.0.0.1"};
	static const char *const ops[] = {"settle", "restore", "change", "changed"};
	struct settlement wanted = settlement_of(5, 3600);
	struct ledger_record r = record_of(5, "n1", 1);
	json_t *controllers = json_pack("[s,s]", "10.0.0.2", "fd00::2");

	(void)state;
	for (int with = 0; with < 2; with++) {
		s.controllers = with ? controllers : NULL;
		for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
			json_decref(ask(&s,
				json_pack("{s:s, s:o, s:s, s:b}", "op", ops[i], "settlement",
					settlement_to_json(&wanted), "reason", "none", "written",
					1),
				0, false));
	}
	assert_int_equal(s.counts.misplaced, 8);
	s.origin = "";
	json_decref(ask(&s, settle_request(&wanted), 0, false));
	assert_int_equal(s.counts.settlements, 0);
	s.origin = "10.0.0.1";
	json_decref(ask(&s, record_request(&r), 0, true));
	json_decref(ask(&s, job_request(5), 0, true));
	json_decref(ask(&s, json_pack("{s:s, s:s}", "op", "unsettled", "cluster", "c"), 0, true));
	s.origin = "fd00::2";
	json_decref(ask(&s, settle_request(&wanted), 64, true));
	json_decref(ask(&s, settle_request(&wanted), 1000, false));
	s.origin = "local";
	s.controllers = NULL;
	json_decref(ask(&s, settle_request(&wanted), 0, true));
	/* Where addresses are not to be looked at. */
	s.origin = NULL;
	json_decref(ask(&s, settle_request(&wanted), 0, true));
	assert_int_equal(s.counts.settlements, 1);
	assert_int_equal(s.counts.repeated_settlements, 2);
	json_decref(controllers);
	ledger_close(s.ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_nodes_as_there_are),
		LEDGER_TEST(prices_come_from_controllers),
		LEDGER_TEST(what_is_refused_is_counted),
		LEDGER_TEST(who_may_what),
		LEDGER_TEST(owners_may_ask_early),
		LEDGER_TEST(users_see_no_block_of_a_running_job),
		LEDGER_TEST(records_are_answered_with_the_prior),
		LEDGER_TEST(refusals_are_logged_sparsely),
		LEDGER_TEST(bad_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
