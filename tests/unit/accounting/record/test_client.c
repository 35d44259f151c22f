/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/record/client.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "accounting/record/client.h"
#include "accounting/record/wire.h"

#define LEDGER_UID 64030

struct wire_auth __wrap_wire_munge(const char *munge_socket);

static uid_t speaker = LEDGER_UID; /* whom the replies come from */

/* Credentials that say what they hold. */
static int fake_seal(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
	char **cred, struct errmsg *err)
{
	(void)a;
	(void)reader;
	(void)err;
	*cred = malloc(len + 7);
	strcpy(*cred, "MUNGE:");
	memcpy(*cred + 6, payload, len);
	(*cred)[len + 6] = '\0';
	return 0;
}

static int fake_open(const struct wire_auth *a, const char *cred, char **payload, size_t *len,
	uid_t *from, struct errmsg *err)
{
	(void)a;
	(void)err;
	*from = speaker;
	*payload = strdup(cred + 6);
	*len = strlen(*payload);
	return 0;
}

struct wire_auth __wrap_wire_munge(const char *munge_socket)
{
	return (struct wire_auth){fake_seal, fake_open, munge_socket};
}

/* A ledger that is a thread: what it is asked, one request a connection, goes to answer(). NULL is
 * no reply, and it ends after `questions` of them. */
static struct {
	pthread_t thread;
	int listener, questions, asked;
	json_t *(*answer)(const json_t *request, int number);
} ledger;

static void serve_one(int fd)
{
	struct wire_auth auth = wire_munge("");
	static char line[WIRE_MAX_LINE + 1];
	struct errmsg err = {""};
	json_t *request, *reply;
	size_t used = 0;
	uid_t from;
	char *text;

	while (used < WIRE_MAX_LINE && !memchr(line, '\n', used)) {
		ssize_t n = read(fd, line + used, WIRE_MAX_LINE - used);

		assert_true(n > 0);
		used += (size_t)n;
	}
	request = wire_decode(&auth, line, used, &from, &err);
	assert_non_null(request);
	reply = ledger.answer(request, ledger.asked++);
	if (reply) {
		if (!json_object_get(reply, "nonce"))
			json_object_set(reply, "nonce", json_object_get(request, "nonce"));
		text = wire_encode(&auth, reply, from, &err);
		assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
		free(text);
		json_decref(reply);
	} else {
		/* Until the client has given up. */
		assert_int_equal(read(fd, line, 1), 0);
	}
	json_decref(request);
}

static void *ledger_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < ledger.questions; i++) {
		int fd = accept(ledger.listener, NULL, NULL);

		serve_one(fd);
		close(fd);
	}
	return NULL;
}

static struct client start(json_t *(*answer)(const json_t *request, int number), int questions)
{
	struct client c = {.host = "127.0.0.1", .timeout_ms = 20000, .ledger_uid = LEDGER_UID};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);

	ledger.listener = socket(AF_INET, SOCK_STREAM, 0);
	ledger.answer = answer;
	ledger.questions = questions;
	ledger.asked = 0;
	assert_int_equal(bind(ledger.listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(ledger.listener, 8), 0);
	assert_int_equal(getsockname(ledger.listener, (struct sockaddr *)&a, &len), 0);
	c.port = ntohs(a.sin_port);
	assert_int_equal(pthread_create(&ledger.thread, NULL, ledger_main, NULL), 0);
	return c;
}

static void stop(void)
{
	pthread_join(ledger.thread, NULL);
	close(ledger.listener);
	assert_int_equal(ledger.asked, ledger.questions);
}

static struct ledger_record record_of(uint32_t job)
{
	return (struct ledger_record){.cluster = "c",
		.node = "n1",
		.method = "robust",
		.backend = "none",
		.job_id = job,
		.degradation = NAN,
		.variance = NAN,
		.thesis_degradation = NAN};
}

static void where_the_ledger_is(void **state)
{
	static const struct {
		const char *setting, *controller, *host;
	} cases[] = {{"", "ctl", "ctl"}, {"", "ctl(10.0.0.1)", "10.0.0.1"},
		{"", "ctl,backup(10.0.0.2)", "ctl"}, {"books", "ctl", "books"}, {"", "", NULL},
		{"", NULL, NULL}};
	static struct nodeconf conf;
	struct poppa_settings settings;
	struct errmsg err = {""};
	struct client c;

	(void)state;
	settings_defaults(&settings);
	nodeconf_defaults(&conf);
	strcpy(conf.ledger_user, "root");
	strcpy(conf.munge_socket, "/run/m");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(settings.ledger_host, cases[i].setting);
		settings.ledger_port = 1234;
		if (!cases[i].host) {
			assert_int_equal(
				client_init(&c, &settings, &conf, cases[i].controller, &err), -1);
			assert_non_null(strstr(err.text, "poppa_ledger"));
			continue;
		}
		assert_int_equal(client_init(&c, &settings, &conf, cases[i].controller, &err), 0);
		assert_string_equal(c.host, cases[i].host);
		assert_string_equal(c.munge_socket, "/run/m");
		assert_int_equal(c.port, 1234);
		assert_int_equal(c.ledger_uid, 0);
	}
	strcpy(conf.ledger_user, "no user at all");
	assert_int_equal(client_init(&c, &settings, &conf, "ctl", &err), -1);
	assert_non_null(strstr(err.text, "LedgerUser"));
}

/* Refuses the record of job 3. */
static json_t *take_records(const json_t *request, int number)
{
	static const size_t sizes[] = {CLIENT_MAX_BATCH, 2, 0, 0};
	json_t *list = json_array(), *item;
	size_t i;

	assert_string_equal(json_string_value(json_object_get(request, "op")), "record");
	assert_int_equal(json_array_size(json_object_get(request, "records")), sizes[number]);
	json_array_foreach(json_object_get(request, "records"), i, item)
	{
		bool good = json_integer_value(json_object_get(item, "job")) != 3;

		json_array_append_new(list, json_pack("{s:b}", "ok", good));
		if (!good)
			json_object_set_new(
				json_array_get(list, i), "error", json_string("not today"));
	}
	if (number > 1)
		assert_string_equal(
			json_string_value(json_object_get(request, "node_type")), "a model");
	return json_pack("{s:b, s:o, s:s, s:o*}", "ok", 1, "results", list, "ledger", "the-one",
		"prior",
		number > 1 ? json_pack("{s:f, s:f, s:f}", "none", 0.25, "narrow", 0.5, "wide",
				     number == 2 ? 0.25 : 0.3)
			   : NULL);
}

static void records_are_sent(void **state)
{
	enum { N = CLIENT_MAX_BATCH + 2 };
	static struct ledger_record r[N];
	enum client_ack ack[N];
	struct client_news news;
	struct client c = start(take_records, 4);
	struct errmsg err = {"old"};

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		r[i] = record_of(i + 1);
	assert_int_equal(client_send_records(&c, r, N, ack, &news, &err), 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(ack[i], i == 2 ? CLIENT_REFUSED : CLIENT_ACKED);
	assert_non_null(strstr(err.text, "job 3: not today"));
	assert_string_equal(news.ledger, "the-one");
	assert_false(news.has_prior);
	/* Without records it only asks which ledger it is, and what jobs of the node's type told. A
	 * prior that is none is left out. */
	strcpy(c.node_type, "a model");
	for (int i = 0; i < 2; i++) {
		memset(&news, 0, sizeof(news));
		assert_int_equal(client_send_records(&c, NULL, 0, NULL, &news, &err), 0);
		assert_string_equal(err.text, "");
		assert_string_equal(news.ledger, "the-one");
		assert_int_equal(news.has_prior, i == 0);
		assert_true(i || news.prior.weight[SLOW_NARROW] == 0.5);
	}
	stop();
}

/* By the number of the question, each is a reply that must not be believed. */
static json_t *bad_reply(const json_t *request, int number)
{
	(void)request;
	speaker = number == 0 ? 1000 : LEDGER_UID;
	switch (number) {
	case 0:
		return json_pack("{s:b, s:[{s:b}]}", "ok", 1, "results", "ok", 1);
	case 1:
		return json_pack(
			"{s:b, s:s, s:[{s:b}]}", "ok", 1, "nonce", "another", "results", "ok", 1);
	case 2:
		return json_pack("{s:b, s:s}", "ok", 0, "error", "the disk is full");
	case 3:
		return json_pack("{s:[{s:b}]}", "results", "ok", 1);
	case 4:
		return json_pack("{s:b, s:[]}", "ok", 1, "results");
	default:
		return NULL;
	}
}

static void nothing_is_acked_by_a_bad_reply(void **state)
{
	static const char *const why[] = {"uid 1000", "another question", "the disk is full",
		"not understood", "does not match", "timed out"};
	struct ledger_record r = record_of(1);
	struct client c = start(bad_reply, 6);
	enum client_ack ack;
	struct errmsg err;

	(void)state;
	for (int i = 0; i < 6; i++) {
		if (i == 5)
			c.timeout_ms = 100;
		ack = CLIENT_ACKED;
		assert_int_equal(client_send_records(&c, &r, 1, &ack, NULL, &err), -1);
		assert_int_equal(ack, CLIENT_PENDING);
		if (!strcasestr(err.text, why[i]))
			fail_msg("%s", err.text);
	}
	stop();
	/* And by none, where nobody listens. */
	assert_int_equal(client_send_records(&c, &r, 1, &ack, NULL, &err), -1);
	assert_int_equal(ack, CLIENT_PENDING);
	assert_non_null(strstr(err.text, "Connection refused"));
}

/* Two parts: the nodes up to n1, and the others. */
static json_t *tell_in_parts(const json_t *request, int number)
{
	struct ledger_record r = record_of(7);
	json_t *reply;

	assert_string_equal(json_string_value(json_object_get(request, "op")), "job");
	assert_string_equal(
		json_string_value(json_object_get(request, "after")), number ? "n1" : "");
	snprintf(r.node, sizeof(r.node), "n%d", number + 1);
	reply = json_pack("{s:b, s:[o], s:n, s:[], s:s}", "ok", 1, "records", record_to_json(&r),
		"settlement", "changes", "ledger", "the-one");
	if (!number)
		json_object_set_new(reply, "more", json_string("n1"));
	return reply;
}

/* Its "more" would be asked for ever. */
static json_t *go_in_circles(const json_t *request, int number)
{
	json_t *reply = tell_in_parts(request, number);

	json_object_set_new(reply, "more", json_string("n1"));
	return reply;
}

static void runs_come_in_parts(void **state)
{
	struct client_run run = {.cluster = "c", .job_id = 7};
	struct client c = start(tell_in_parts, 2);
	struct client_answer answer;
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(client_job(&c, &run, &answer, &err), 0);
	assert_int_equal(answer.record_count, 2);
	assert_string_equal(answer.records[1].node, "n2");
	assert_false(answer.settled);
	assert_string_equal(answer.ledger, "the-one");
	client_answer_free(&answer);
	stop();
	c = start(go_in_circles, 2);
	assert_int_equal(client_job(&c, &run, &answer, &err), -1);
	assert_non_null(strstr(err.text, "not understood"));
	assert_null(answer.records);
	stop();
}

/* The second run has a price. */
static json_t *tell_price(const json_t *request, int number)
{
	struct settlement s;
	json_t *price = NULL;

	assert_string_equal(json_string_value(json_object_get(request, "op")), "job");
	/* No node's name lies between these. */
	assert_string_equal(json_string_value(json_object_get(request, "after")), "~");
	assert_string_equal(json_string_value(json_object_get(request, "upto")), "~");
	if (number) {
		settlement_clear(&s);
		s.job_id = 7;
		s.start_unix = s.end_unix = s.settled_unix = 1;
		s.version = 1;
		snprintf(s.cluster, sizeof(s.cluster), "c");
		snprintf(s.class_name, sizeof(s.class_name), "1000/fft");
		snprintf(s.policy, sizeof(s.policy), "none");
		settlement_write_comment(&s);
		price = settlement_to_json(&s);
	}
	return json_pack("{s:b, s:[], s:o?, s:[], s:s}", "ok", 1, "records", "settlement", price,
		"changes", "ledger", "the-one");
}

static void price_alone(void **state)
{
	struct client_run run = {.cluster = "c", .job_id = 7};
	struct client c = start(tell_price, 2);
	struct errmsg err = {""};
	struct settlement s;

	(void)state;
	assert_int_equal(client_settlement(&c, &run, &s, &err), 0);
	assert_int_equal(client_settlement(&c, &run, &s, &err), 1);
	assert_string_equal(s.class_name, "1000/fft");
	stop();
	assert_int_equal(client_settlement(&c, &run, &s, &err), -1);
	assert_true(*err.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_the_ledger_is),
		cmocka_unit_test(records_are_sent),
		cmocka_unit_test(nothing_is_acked_by_a_bad_reply),
		cmocka_unit_test(runs_come_in_parts),
		cmocka_unit_test(price_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
