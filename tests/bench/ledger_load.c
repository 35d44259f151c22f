/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes and a settler that only pretend, in front of a real poppa-ledgerd: how much it takes, and
 * how long prices wait. Prints JSON. */
#include <argp.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounting/record/client.h"
#include "accounting/settle/settle.h"
#include "common/nodeconf.h"
#include "common/units.h"

#define CLUSTER "bench"
#define MAX_THREADS 64
#define MAX_NODES 2000
#define PARTS 10
#define CORES 16
#define RAW 16000

static struct options {
	const char *conf, *ledger;
	bool day;
	int clients, batch, seconds, jobs, nodes;
	double rate;
} o = {.clients = 4,
	.batch = CLIENT_MAX_BATCH,
	.seconds = 10,
	.jobs = 100000,
	.nodes = 2,
	.rate = 100};

static struct client ledger;
static double t0;
static int64_t start_unix;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / NS_PER_S;
}

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "ledger_load: %s\n", what);
	exit(1);
}

/* What a node tells of a job that ran for ten minutes beside another. */
static struct ledger_record record_of(uint32_t job, int node, bool final)
{
	struct ledger_record r = {.cluster = CLUSTER,
		.job_id = job,
		.uid = 1000,
		.seq = final ? 20 : 10,
		.final = final,
		.lane = (int)(job % 2),
		.cores = CORES,
		.start_unix = start_unix,
		.end_unix = start_unix + (final ? 600 : 300),
		.co_ns = (final ? 560 : 280) * NS_PER_S,
		.solo_ns = (final ? 35 : 17) * NS_PER_S,
		.paused_ns = (final ? 5 : 3) * NS_PER_S,
		.blocks = final ? 1500 : 750,
		.used = final ? 1480 : 741,
		.degradation = 0.123456789 + job % 100 / 1000.0,
		.variance = 0.0000123456,
		.thesis_degradation = 0.14567891,
		.method = "robust",
		.backend = "perf",
		.partner_count = 1,
		.partner = {job + 1}};

	snprintf(r.node, sizeof(r.node), "n%05d", node);
	return r;
}

/* --- records: as much as it takes, as when spools are emptied after an outage --- */

struct sender {
	pthread_t thread;
	int number;
	uint64_t records, messages;
	double slowest, spent;
};

static void *send_records(void *arg)
{
	struct ledger_record *r = calloc((size_t)o.batch, sizeof(*r));
	enum client_ack ack[CLIENT_MAX_BATCH];
	struct sender *s = arg;
	struct errmsg err;

	if (!r)
		die("out of memory");
	for (uint32_t job = 1; now_s() < t0 + o.seconds; job += (uint32_t)o.batch) {
		double before = now_s(), took;

		for (int i = 0; i < o.batch; i++)
			r[i] = record_of(job + (uint32_t)i, s->number, true);
		if (client_send_records(&ledger, r, o.batch, ack, NULL, &err))
			die(err.text);
		for (int i = 0; i < o.batch; i++)
			if (ack[i] != CLIENT_ACKED)
				die(err.text);
		took = now_s() - before;
		s->records += (uint64_t)o.batch;
		s->messages++;
		s->spent += took;
		s->slowest = fmax(s->slowest, took);
	}
	free(r);
	return NULL;
}

static json_t *run_records(void)
{
	struct sender s[MAX_THREADS] = {{.number = 0}};
	uint64_t records = 0, messages = 0;
	double slowest = 0, spent = 0, took;

	for (int i = 0; i < o.clients; i++) {
		s[i].number = i;
		if (pthread_create(&s[i].thread, NULL, send_records, &s[i]))
			die("cannot start a thread");
	}
	for (int i = 0; i < o.clients; i++) {
		pthread_join(s[i].thread, NULL);
		records += s[i].records;
		messages += s[i].messages;
		spent += s[i].spent;
		slowest = fmax(slowest, s[i].slowest);
	}
	took = now_s() - t0;
	return json_pack("{s:i, s:i, s:I, s:I, s:f, s:f, s:f, s:f}", "clients", o.clients, "batch",
		o.batch, "records", (json_int_t)records, "messages", (json_int_t)messages,
		"seconds", took, "records_per_s", (double)records / took, "mean_ms",
		messages ? 1e3 * spent / (double)messages : NAN, "slowest_ms", 1e3 * slowest);
}

/* --- day: jobs end at a steady rate, and one settler prices them --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int next_job;                /* the next to end */
static double *ended;               /* by job: when the ledger had its last record; 0 = not yet */
static int *queue, queued, settled; /* jobs in the order in which they became complete */
static float *delay;                /* by position in the queue, seconds */

static void send_one(uint32_t job, int node, bool final)
{
	struct ledger_record r = record_of(job, node, final);
	enum client_ack ack;
	struct errmsg err;

	if (client_send_records(&ledger, &r, 1, &ack, NULL, &err) || ack != CLIENT_ACKED)
		die(err.text);
}

static void *end_jobs(void *arg)
{
	(void)arg;
	for (;;) {
		double wait;
		int job;

		pthread_mutex_lock(&lock);
		job = next_job++;
		pthread_mutex_unlock(&lock);
		if (job >= o.jobs)
			return NULL;
		wait = t0 + job / o.rate - now_s();
		if (wait > 0)
			usleep((useconds_t)(1e6 * wait));
		for (int n = 0; n < o.nodes; n++)
			send_one((uint32_t)job + 1, n, false);
		for (int n = 0; n < o.nodes; n++)
			send_one((uint32_t)job + 1, n, true);
		pthread_mutex_lock(&lock);
		ended[job] = now_s();
		queue[queued++] = job;
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
}

/* As prep/poppa does it: asks for the records, prices, stores the price. */
static void settle_job(uint32_t job, json_t *nodes, const struct price_policy *policy)
{
	struct settle_node node[MAX_NODES];
	struct settle_job facts = {.cluster = CLUSTER,
		.job_id = job,
		.uid = 1000,
		.start_unix = start_unix,
		.end_unix = start_unix + 600,
		.wall_ns = 600 * NS_PER_S,
		.raw = RAW,
		.nodes = node,
		.node_count = o.nodes};
	struct client_run run = {
		.cluster = CLUSTER, .job_id = job, .start_unix = start_unix, .nodes = nodes};
	struct client_answer answer;
	struct settlement wanted, stored;
	struct errmsg err;
	bool first;

	for (int n = 0; n < o.nodes; n++) {
		snprintf(node[n].name, sizeof(node[n].name), "n%05d", n);
		node[n].weight = CORES;
		node[n].wall_ns = 0;
	}
	if (client_job(&ledger, &run, &answer, &err))
		die(err.text);
	if (!settle_complete(&facts, answer.records, answer.record_count))
		die("a record that was acknowledged is not there");
	settle_decide(&facts, answer.records, answer.record_count, policy, time(NULL), &wanted);
	client_answer_free(&answer);
	if (client_settle(&ledger, &wanted, &stored, &first, &err))
		die(err.text);
	if (!first || stored.charged >= RAW)
		die("a job was settled before, or has no discount");
}

static json_t *node_list(void)
{
	json_t *list = json_array();

	for (int n = 0; n < o.nodes; n++) {
		char name[32];

		snprintf(name, sizeof(name), "n%05d", n);
		json_array_append_new(
			list, json_pack("{s:s, s:[s]}", "name", name, "addresses", "127.0.0.1"));
	}
	return list;
}

static void *settle_jobs(void *arg)
{
	struct price_policy policy;
	json_t *nodes = node_list();
	struct errmsg err;

	(void)arg;
	if (price_policy_parse("thesis", &policy, &err))
		die(err.text);
	while (settled < o.jobs) {
		int job;

		pthread_mutex_lock(&lock);
		while (settled == queued)
			pthread_cond_wait(&more, &lock);
		job = queue[settled];
		pthread_mutex_unlock(&lock);
		settle_job((uint32_t)job + 1, nodes, &policy);
		delay[settled++] = (float)(now_s() - ended[job]);
	}
	json_decref(nodes);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static json_t *run_day(void)
{
	pthread_t node[MAX_THREADS], settler;
	json_t *parts = json_array();
	double took;

	ended = calloc((size_t)o.jobs, sizeof(*ended));
	queue = calloc((size_t)o.jobs, sizeof(*queue));
	delay = calloc((size_t)o.jobs, sizeof(*delay));
	if (!ended || !queue || !delay)
		die("out of memory");
	for (int i = 0; i < o.clients; i++)
		if (pthread_create(&node[i], NULL, end_jobs, NULL))
			die("cannot start a thread");
	if (pthread_create(&settler, NULL, settle_jobs, NULL))
		die("cannot start a thread");
	for (int i = 0; i < o.clients; i++)
		pthread_join(node[i], NULL);
	pthread_join(settler, NULL);
	took = now_s() - t0;
	for (int p = 0; p < PARTS; p++) {
		int from = (int)((int64_t)o.jobs * p / PARTS);
		int n = (int)((int64_t)o.jobs * (p + 1) / PARTS) - from;

		if (n <= 0)
			continue;
		qsort(delay + from, (size_t)n, sizeof(*delay), compare);
		json_array_append_new(
			parts, json_pack("{s:i, s:f, s:f, s:f}", "jobs", n, "median_ms",
				       1e3 * delay[from + n / 2], "p99_ms",
				       1e3 * delay[from + (int)(0.99 * (n - 1))], "slowest_ms",
				       1e3 * delay[from + n - 1]));
	}
	return json_pack("{s:i, s:i, s:f, s:f, s:f, s:o}", "jobs", o.jobs, "nodes", o.nodes, "rate",
		o.rate, "seconds", took, "jobs_per_s", o.jobs / took, "parts", parts);
}

static const struct argp_option option_table[] = {{"conf", 'c', "FILE", 0, "poppa.conf", 0},
	{"ledger", 'l', "HOST:PORT", 0, "Where poppa-ledgerd listens", 0},
	{"clients", 'C', "N", 0, "Nodes that send at the same time", 0},
	{"batch", 'b', "N", 0, "records: records in a message", 0},
	{"seconds", 's', "N", 0, "records: for how long", 0},
	{"jobs", 'j', "N", 0, "day: how many", 0},
	{"nodes", 'n', "N", 0, "day: nodes a job has", 0},
	{"rate", 'r', "N", 0, "day: jobs that end in a second", 0}, {0}};

static int number(struct argp_state *state, const char *arg, int max)
{
	struct errmsg err;
	int64_t n;

	if (units_parse_int(arg, 1, max, &n, &err))
		argp_error(state, "%s", err.text);
	return (int)n;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'c':
		o.conf = arg;
		return 0;
	case 'l':
		o.ledger = arg;
		return 0;
	case 'C':
		o.clients = number(state, arg, MAX_THREADS);
		return 0;
	case 'b':
		o.batch = number(state, arg, CLIENT_MAX_BATCH);
		return 0;
	case 's':
		o.seconds = number(state, arg, 3600);
		return 0;
	case 'j':
		o.jobs = number(state, arg, 10000000);
		return 0;
	case 'n':
		o.nodes = number(state, arg, MAX_NODES);
		return 0;
	case 'r':
		o.rate = number(state, arg, 100000);
		return 0;
	case ARGP_KEY_ARG:
		if (strcmp(arg, "records") && strcmp(arg, "day"))
			argp_error(state, "\"%s\" is neither records nor day", arg);
		o.day = !strcmp(arg, "day");
		return 0;
	case ARGP_KEY_END:
		if (!o.conf || !o.ledger || state->arg_num != 1)
			argp_error(state, "--conf, --ledger, and records or day are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {option_table, parse_option, "records|day",
		"Puts a running poppa-ledgerd under load.", NULL, NULL, NULL};
	struct poppa_settings settings;
	struct errmsg err = {""};
	struct nodeconf conf;
	char text[512];
	json_t *result;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	snprintf(text, sizeof(text), "poppa_ledger=%s", o.ledger);
	if (nodeconf_load(o.conf, &conf, &err) || settings_parse(text, &settings, &err) ||
		client_init(&ledger, &settings, &conf, NULL, &err))
		die(err.text);
	start_unix = (int64_t)time(NULL) - 900;
	t0 = now_s();
	result = o.day ? run_day() : run_records();
	if (!result || json_dumpf(result, stdout, JSON_REAL_PRECISION(6)))
		die("cannot print the result");
	putchar('\n');
	return 0;
}
