/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures what poppad costs the jobs of a node, by holding its shutters for every other stretch.
 */
/*
 * The machine's mood drifts, so stretches with shutters alternate with stretches without, within
 * the same seconds, and each stretch with shutters is compared with its two neighbours.
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "meter.h"

enum {
	KEY_JOB = 'J',
	KEY_SOCKET = 's',
	KEY_JSON = 'j',
	KEY_FOR = 256,
	KEY_STRETCH,
	KEY_TRACE,
	KEY_EVERY
};

static struct meter_job job[METER_MAX_JOBS];
static int jobs;
static const char *socket_path;
static int64_t stretch_ns = NS_PER_S, total_ns = 40 * NS_PER_S;
static const char *trace_path;
static int64_t every_ns = 10 * NS_PER_MS;
static bool json;

static const struct argp_option options[] = {
	{"job", KEY_JOB, "PID[,PID...]", 0, "tasks of one job; repeat it for each job of the node",
		0},
	{"socket", KEY_SOCKET, "PATH", 0, "poppad's socket (RunDir/poppad.sock)", 0},
	{"stretch", KEY_STRETCH, "TIME", 0, "length of a stretch (default 1s)", 0},
	{"for", KEY_FOR, "TIME", 0, "measure this long (default 40s)", 0},
	{"trace", KEY_TRACE, "FILE", 0,
		"hold nothing; write the time (CLOCK_MONOTONIC, ns) and the progress of each job "
		"into FILE, again and again",
		0},
	{"every", KEY_EVERY, "TIME", 0, "with --trace: how often (default 10ms)", 0},
	{"json", KEY_JSON, NULL, 0, "print the result as JSON", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_JOB:
		if (jobs == METER_MAX_JOBS)
			argp_error(state, "more than %d jobs", METER_MAX_JOBS);
		meter_add_tasks(&job[jobs++], "job", arg, state);
		return 0;
	case KEY_SOCKET:
		socket_path = arg;
		return 0;
	case KEY_STRETCH:
		stretch_ns = meter_duration("stretch", arg, state);
		return 0;
	case KEY_FOR:
		total_ns = meter_duration("for", arg, state);
		return 0;
	case KEY_TRACE:
		trace_path = arg;
		return 0;
	case KEY_EVERY:
		every_ns = meter_duration("every", arg, state);
		if (every_ns < NS_PER_MS)
			argp_error(state, "--every must be 1ms at least");
		return 0;
	case KEY_JSON:
		json = true;
		return 0;
	case ARGP_KEY_END:
		if (!jobs || (!socket_path && !trace_path))
			argp_error(state, "give --job, and --socket or --trace");
		if (stretch_ns < 100 * NS_PER_MS)
			argp_error(state, "a stretch must last 100ms at least");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Half the 95 % interval of a job's cost. A stretch without shutters serves two of its neighbours,
 * which makes the mean less certain than as many independent ratios would: 2/1.5 in variance. The
 * quantile is Fisher's expansion of Student's about the normal one. */
static double half_width(const struct meter_job *j, const struct meter_summary *s)
{
	double dof = j->pairs - 2 * (j->pairs / 10) - 1;

	return (1.96 + 2.372 / dof + 2.823 / (dof * dof)) * s->robust_se * sqrt(2 / 1.5);
}

static void measure(void)
{
	double before[METER_MAX_JOBS], with[METER_MAX_JOBS], after[METER_MAX_JOBS];
	int64_t end = meter_now_ns() + total_ns, edge_ns = 20 * NS_PER_MS;

	meter_hold(socket_path, true);
	if (meter_stretch(job, jobs, stretch_ns, edge_ns, before))
		return;
	while (meter_now_ns() < end) {
		meter_hold(socket_path, false);
		if (meter_stretch(job, jobs, stretch_ns, edge_ns, with))
			break;
		meter_hold(socket_path, true);
		if (meter_stretch(job, jobs, stretch_ns, edge_ns, after))
			break;
		for (int j = 0; j < jobs; j++)
			if (before[j] + after[j] > 0)
				meter_add_ratio(&job[j], with[j] / ((before[j] + after[j]) / 2));
		memcpy(before, after, sizeof(before));
		if (meter_follow_threads(job, jobs))
			break;
	}
	meter_hold(socket_path, false);
}

/* For what happens at times that are known otherwise, as those in a shutter log. */
static int trace(void)
{
	int64_t at = meter_now_ns(), end = at + total_ns;
	FILE *f = fopen(trace_path, "we");
	int rc = 0;

	if (!f)
		error(EXIT_FAILURE, errno, "%s", trace_path);
	while (at < end && !rc) {
		double progress[METER_MAX_JOBS];

		for (int j = 0; j < jobs && !rc; j++)
			rc = meter_progress(&job[j], &progress[j]);
		fprintf(f, "%" PRId64, meter_now_ns());
		for (int j = 0; j < jobs && !rc; j++)
			fprintf(f, ",%.0f", progress[j]);
		fputc('\n', f);
		at += every_ns;
		rc = rc || meter_rest(at - meter_now_ns());
	}
	if (fclose(f))
		error(EXIT_FAILURE, errno, "%s", trace_path);
	return EXIT_SUCCESS;
}

static int report(void)
{
	json_t *list = json_array(), *all;
	double sum = 0, square = 0;

	for (int j = 0; j < jobs; j++) {
		struct meter_summary s;
		double cost, half;

		if (job[j].pairs < METER_MIN_PAIRS) {
			error(0, 0, "only %d stretches with shutters; %d are the least",
				job[j].pairs, METER_MIN_PAIRS);
			json_decref(list);
			return EXIT_FAILURE;
		}
		s = meter_summarise(&job[j]);
		cost = 1 - s.robust;
		half = half_width(&job[j], &s);
		sum += cost;
		square += half * half;
		if (!json)
			printf("task %d%s: poppad costs %.2f %% (95 %% interval %.2f to %.2f %%, "
			       "%d stretches)\n",
				(int)job[j].pid[0], job[j].tasks > 1 ? " and others" : "",
				100 * cost, 100 * (cost - half), 100 * (cost + half), job[j].pairs);
		json_array_append_new(
			list, json_pack("{s:o,s:i,s:f,s:[f,f],s:f,s:f,s:f}", "pids",
				      meter_pids(&job[j]), "stretches", job[j].pairs, "cost", cost,
				      "ci95", cost - half, cost + half, "median", 1 - s.median,
				      "mean", 1 - s.mean, "se", s.se));
	}
	/* The jobs' errors taken as independent; what moves one up by contention moves the other
	 * down, so this is rather too wide. */
	sum /= jobs;
	square = sqrt(square) / jobs;
	if (!json)
		printf("all jobs: %.2f %% (%.2f to %.2f %%)\n", 100 * sum, 100 * (sum - square),
			100 * (sum + square));
	all = json_pack(
		"{s:o,s:f,s:[f,f]}", "jobs", list, "cost", sum, "ci95", sum - square, sum + square);
	meter_show(all, json);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Measures what poppad costs the co-located jobs of this node: the progress "
		       "lost in stretches with shutters against stretches without.",
	};
	static struct nodeconf conf;
	struct errmsg err;
	char path[4096];
	int rc;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (nodeconf_load(nodeconf_path(path, sizeof(path)), &conf, &err))
		error(EXIT_FAILURE, 0, "%s", err.text);
	for (int j = 0; j < jobs; j++)
		meter_open(&job[j], true, COUNTER_AUTO, &conf);
	meter_catch_signals();
	if (trace_path) {
		rc = trace();
	} else {
		measure();
		rc = report();
	}
	for (int j = 0; j < jobs; j++)
		meter_close(&job[j]);
	return rc;
}
