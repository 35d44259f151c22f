/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures how a job's rate follows the stop and the resume of its co-runner, and what of it a
 * shutter sees. */
/*
 * Rounds of two kinds take turns, so that both are of the same seconds: in a short one the partner
 * is stopped for S, as by poppad, and its windows go to poppad's own estimator; in a long one it is
 * stopped for as long as --long, and the victim is read at moments that double. The degradation by
 * the first L of all long stops is what a shutter of length L could see at best; by their last
 * half it is the truth. What the two differ by comes back slowly. What the estimator differs by
 * from the mean of the same short stops, is its choice among blocks and windows. A second estimator
 * gets the same short stops and, ever more seldom, one as long as poppad's long blocks. For
 * experiments, not for production.
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "accounting/record/fields.h"
#include "common/clock.h"
#include "common/nodeconf.h"
#include "common/units.h"
#include "meter.h"
#include "poppa/counter/counter.h"
#include "poppa/estimate/estimator.h"
#include "watchdog.h"

enum { VICTIM, PARTNER, JOBS };
enum {
	KEY_VICTIM = 'v',
	KEY_PARTNER = 'p',
	KEY_JSON = 'j',
	KEY_COUNTER = 'c',
	KEY_LONG = 256,
	KEY_SHUTTER,
	KEY_REST,
	KEY_FOR,
	KEY_SOCKET
};

#define WINDOWS 4
#define FIRST_NS (250 * NS_PER_US) /* the first moment after a stop, of those that double */
#define MAX_MOMENTS 20
#define PRIORITY 10
#define HOLD_NS (20 * NS_PER_S) /* poppad forgets a hold after a minute */

static struct meter_job job[JOBS];
static int64_t long_ns = 512 * NS_PER_MS, shutter_ns = 3200 * NS_PER_US, rest_ns = 600 * NS_PER_MS;
static int64_t total_ns = 60 * NS_PER_S;
static enum counter_backend backend;
static bool json;
static const char *socket_path; /* poppad's, whose shutters are held meanwhile */

/* The end of each interval after a stop or a resume, ns. */
static int64_t moment[MAX_MOMENTS];
static int moments;

/* Sums over rounds of a value and of its square. */
struct sums {
	double sum, square;
	int n;
};
/* Of the rate in each interval after the stop and after the resume, relative to the last after the
 * stop; of 1 - D by the first so many intervals; by the last half; by short stops. */
static struct sums after_stop[MAX_MOMENTS], after_resume[MAX_MOMENTS], by_length[MAX_MOMENTS],
	truth, plain;
static struct estimator *robust, *with_long;
static int long_blocks;

static void add(struct sums *s, double v)
{
	if (!isfinite(v))
		return;
	s->sum += v;
	s->square += v * v;
	s->n++;
}

static double mean(const struct sums *s)
{
	return s->n ? s->sum / s->n : NAN;
}

static double standard_error(const struct sums *s)
{
	return s->n > 1 ? sqrt(fmax(s->square / s->n - mean(s) * mean(s), 0) / (s->n - 1)) : NAN;
}

static const struct argp_option options[] = {
	{"victim", KEY_VICTIM, "PID[,PID...]", 0, "tasks of the job to measure", 0},
	{"partner", KEY_PARTNER, "PID[,PID...]", 0, "tasks of its co-runner, which get stopped", 0},
	{"long", KEY_LONG, "TIME", 0, "length of a long stop (default 512ms)", 0},
	{"shutter", KEY_SHUTTER, "TIME", 0, "length of a short one (default 3200us)", 0},
	{"rest", KEY_REST, "TIME", 0, "time between two stops, in which both run (default 600ms)",
		0},
	{"for", KEY_FOR, "TIME", 0, "measure this long (default 60s)", 0},
	{"socket", KEY_SOCKET, "PATH", 0, "poppad's socket: hold its shutters meanwhile", 0},
	{"counter", KEY_COUNTER, "NAME", 0, "auto, heartbeat, perf, papi or uprobe (default auto)",
		0},
	{"json", KEY_JSON, NULL, 0, "print the result as JSON", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_VICTIM:
		meter_add_tasks(&job[VICTIM], "victim", arg, state);
		return 0;
	case KEY_PARTNER:
		meter_add_tasks(&job[PARTNER], "partner", arg, state);
		return 0;
	case KEY_LONG:
		long_ns = meter_duration("long", arg, state);
		return 0;
	case KEY_SHUTTER:
		shutter_ns = meter_duration("shutter", arg, state);
		return 0;
	case KEY_REST:
		rest_ns = meter_duration("rest", arg, state);
		return 0;
	case KEY_FOR:
		total_ns = meter_duration("for", arg, state);
		return 0;
	case KEY_SOCKET:
		socket_path = arg;
		return 0;
	case KEY_COUNTER:
		if (counter_backend_parse(arg, &backend))
			argp_error(state, "--counter=%s is unknown", arg);
		return 0;
	case KEY_JSON:
		json = true;
		return 0;
	case ARGP_KEY_END:
		if (!job[VICTIM].tasks || !job[PARTNER].tasks)
			argp_error(state, "give --victim and --partner");
		if (long_ns < 4 * FIRST_NS || shutter_ns < WINDOWS * 100 * NS_PER_US)
			argp_error(state, "--long is 1ms at least, --shutter 400us");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* One reading of the victim. */
struct reading {
	int64_t at, own;
	double progress;
};

static int look(int64_t at, struct reading *r)
{
	struct timespec t = clock_spec(at);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		if (meter_interrupted())
			return -1;
	r->own = clock_own();
	if (meter_progress(&job[VICTIM], &r->progress))
		return -1;
	r->at = clock_now();
	return 0;
}

/* WINDOWS + 1 readings from now on. */
static int look_at_region(struct reading *r)
{
	int64_t begin = clock_now();

	for (int k = 0; k <= WINDOWS; k++)
		if (look(begin + k * shutter_ns / WINDOWS, &r[k]))
			return -1;
	return 0;
}

/* A reading now, and one at each moment after it. */
static int look_at_moments(struct reading *r)
{
	int64_t begin = clock_now();

	if (look(begin, &r[0]))
		return -1;
	for (int i = 0; i < moments; i++)
		if (look(begin + moment[i], &r[i + 1]))
			return -1;
	return 0;
}

static double rate(const struct reading *from, const struct reading *to)
{
	return (to->progress - from->progress) / (double)(to->at - from->at);
}

/* lent: whether this thread runs on a processor of the co-runner, which runs. */
static int windows(const struct reading *r, int n, bool lent, struct est_window *w)
{
	for (int k = 0; k < n; k++)
		w[k] = (struct est_window){.progress = r[k + 1].progress - r[k].progress,
			.dur_ns = (double)(r[k + 1].at - r[k].at),
			.lent_ns = lent ? (double)(r[k + 1].own - r[k].own) : 0};
	return n;
}

/* The partner is stopped for a block of poppad's: a short one goes to both estimators, a long one,
 * with so many windows beyond, to the second one only. Nobody reads what comes after a long one. */
static int block_round(const struct reading *rested, int beyond)
{
	struct reading before[WINDOWS + 1], during[WINDOWS + 1], after[WINDOWS + 1];
	struct reading on[EST_BEYOND + 1];
	struct est_block b = {.start_ns = 0};
	int64_t at;
	int rc;

	if (look_at_region(before))
		return -1;
	watchdog_stop(PARTNER);
	rc = look_at_region(during);
	on[0] = during[WINDOWS];
	at = on[0].at;
	for (int i = 0; i < beyond && !rc; i++) {
		at += (int64_t)est_beyond_ns(i, (double)shutter_ns);
		rc = look(at, &on[i + 1]);
	}
	watchdog_resume(PARTNER);
	if (rc || (!beyond && look_at_region(after)))
		return -1;
	b.start_ns = (uint64_t)before[0].at;
	b.before_n = windows(before, WINDOWS, true, b.before);
	b.during_n = windows(during, WINDOWS, false, b.during);
	b.beyond_n = windows(on, beyond, false, b.beyond);
	b.after_n = beyond ? 0 : windows(after, WINDOWS, true, b.after);
	estimator_add(with_long, &b);
	long_blocks += beyond > 0;
	if (beyond)
		return 0;
	estimator_add(robust, &b);
	add(&plain, rate(rested, &before[0]) / rate(&during[WINDOWS / 2], &during[WINDOWS]));
	return 0;
}

static int long_round(const struct reading *rested)
{
	struct reading before, alone[MAX_MOMENTS + 1], after[MAX_MOMENTS + 1];
	double co, solo;
	int rc;

	if (look(clock_now(), &before))
		return -1;
	watchdog_stop(PARTNER);
	rc = look_at_moments(alone);
	watchdog_resume(PARTNER);
	if (rc || look_at_moments(after))
		return -1;
	co = rate(rested, &before);
	solo = rate(&alone[moments - 1], &alone[moments]);
	for (int i = 0; i < moments; i++) {
		add(&after_stop[i], rate(&alone[i], &alone[i + 1]) / solo);
		add(&after_resume[i], rate(&after[i], &after[i + 1]) / solo);
		add(&by_length[i], co / rate(&alone[0], &alone[i + 1]));
	}
	add(&truth, co / solo);
	return 0;
}

static void measure(void)
{
	int64_t end = clock_now() + total_ns, hold = clock_now();
	int next_block = 4;

	for (int n = 0; clock_now() < end; n++) {
		struct reading rested;
		int beyond = 0;

		if (socket_path && clock_now() >= hold) {
			meter_hold(socket_path, true);
			hold = clock_now() + HOLD_NS;
		}
		/* The first half of the rest is for caches that empty. */
		if (meter_rest(rest_ns / 2) || look(clock_now(), &rested) ||
			meter_rest(rest_ns / 2))
			return;
		if (n >= next_block && n % 2 == 0)
			beyond = estimator_long_windows(with_long);
		if (beyond)
			next_block = 2 * n;
		if (n % 2 ? long_round(&rested) : block_round(&rested, beyond))
			return;
		if (meter_follow_threads(job, 1))
			return;
	}
}

/* 1 - the mean, as every sum here is one of co-run to solo rates. */
static json_t *degradation_json(const struct sums *s)
{
	return json_pack("{s:o,s:o,s:i}", "degradation", field_real_or_null(1 - mean(s)), "se",
		field_real_or_null(standard_error(s)), "n", s->n);
}

static json_t *estimate_json(const struct est_result *r)
{
	return json_pack("{s:o,s:o,s:o,s:I,s:I}", "degradation", field_real_or_null(r->degradation),
		"lo", field_real_or_null(r->lo), "hi", field_real_or_null(r->hi), "blocks",
		(json_int_t)r->blocks, "used", (json_int_t)r->used);
}

static bool report(void)
{
	json_t *lengths = json_array(), *stop = json_array(), *resume = json_array(), *all;
	struct est_result r, l;

	if (truth.n < METER_MIN_PAIRS || plain.n < METER_MIN_PAIRS) {
		error(0, 0, "only %d long and %d short stops; %d of each are the least", truth.n,
			plain.n, METER_MIN_PAIRS);
		return false;
	}
	estimator_result(robust, &r);
	estimator_result(with_long, &l);
	if (!json)
		printf("%10s %12s %12s %22s\n", "ms", "after stop", "after resume",
			"D by the first so long");
	for (int i = 0; i < moments; i++) {
		double ms = (double)moment[i] / NS_PER_MS;
		json_t *one = degradation_json(&by_length[i]);

		json_object_set_new(one, "ms", json_real(ms));
		json_array_append_new(lengths, one);
		json_array_append_new(stop, field_real_or_null(mean(&after_stop[i])));
		json_array_append_new(resume, field_real_or_null(mean(&after_resume[i])));
		if (!json)
			printf("%10.2f %12.4f %12.4f %12.4f (%.4f)\n", ms, mean(&after_stop[i]),
				mean(&after_resume[i]), 1 - mean(&by_length[i]),
				standard_error(&by_length[i]));
	}
	if (!json)
		printf("true degradation %.4f (%.4f), by the second half of short stops %.4f (%.4f), by the estimator %.4f (%.4f "
		       "to %.4f), with %d long blocks %.4f (%.4f to %.4f), %d long and %d short stops\n",
			1 - mean(&truth), standard_error(&truth), 1 - mean(&plain),
			standard_error(&plain), r.degradation, r.lo, r.hi, long_blocks,
			l.degradation, l.lo, l.hi, truth.n, plain.n);
	all = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:i}", "truth", degradation_json(&truth),
		"plain", degradation_json(&plain), "by_length", lengths, "after_stop", stop,
		"after_resume", resume, "robust", estimate_json(&r), "with_long", estimate_json(&l),
		"long_blocks", long_blocks);
	meter_show(all, json);
	return true;
}

/* As the shutter does: ahead of the jobs, on a processor of the one that is stopped. */
static void go_ahead(void)
{
	struct sched_param ahead = {.sched_priority = PRIORITY};
	cpu_set_t cpus;

	if (sched_setscheduler(0, SCHED_FIFO, &ahead))
		error(0, errno, "without SCHED_FIFO the readings are late");
	if (!sched_getaffinity(job[PARTNER].pid[0], sizeof(cpus), &cpus))
		sched_setaffinity(0, sizeof(cpus), &cpus);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Measures how a job's rate follows the stop and the resume of its co-runner, and what of it shutters see. "
		       "A job whose tasks end, or a signal, ends the measurement early; what was stopped is always resumed.",
	};
	static struct nodeconf conf;
	struct errmsg err;
	char path[4096];
	bool enough;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	for (int64_t at = FIRST_NS; moments < MAX_MOMENTS && at <= long_ns; at *= 2)
		moment[moments++] = at;
	if (nodeconf_load(nodeconf_path(path, sizeof(path)), &conf, &err))
		error(EXIT_FAILURE, 0, "%s", err.text);
	robust = estimator_new(ESTIMATE_ROBUST, NULL);
	with_long = estimator_new(ESTIMATE_ROBUST, &slow_prior_default);
	if (!robust || !with_long)
		error(EXIT_FAILURE, errno, "memory");
	for (int j = 0; j < JOBS; j++)
		meter_open(&job[j], j == VICTIM, backend, &conf);
	meter_catch_signals();
	watchdog_start(job, long_ns);
	go_ahead();
	measure();
	if (socket_path)
		meter_hold(socket_path, false);
	enough = report();
	watchdog_end();
	for (int j = 0; j < JOBS; j++)
		meter_close(&job[j]);
	estimator_free(robust);
	estimator_free(with_long);
	return enough ? EXIT_SUCCESS : EXIT_FAILURE;
}
