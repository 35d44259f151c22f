/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the true degradation of running jobs by letting each run alone again and again. */
/*
 * Stretches of co-running and of solo running alternate within the same seconds, as the machine's
 * mood drifts; each solo stretch is compared with its two neighbours. The other job is stopped for
 * some hundred milliseconds at a time, so this is for experiments, not for production.
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/nodeconf.h"
#include "common/units.h"
#include "meter.h"
#include "poppa/counter/counter.h"
#include "watchdog.h"

enum { VICTIM, PARTNER, JOBS };
enum {
	KEY_VICTIM = 'v',
	KEY_PARTNER = 'p',
	KEY_JSON = 'j',
	KEY_BOTH = 'b',
	KEY_COUNTER = 'c',
	KEY_SOLO = 256,
	KEY_CO,
	KEY_EDGE,
	KEY_FOR,
	KEY_DISTURBED,
	KEY_SOCKET,
	KEY_SHUTTERS,
};

static struct meter_job job[JOBS];
static double rate_co[JOBS], rate_solo[JOBS]; /* sums over the pairs */

/* A solo stretch and the mean of its neighbours, in progress a second. */
static struct pair {
	double co, solo;
	bool disturbed;
} * pair[JOBS];
static int pairs[JOBS], disturbed[JOBS];
static int64_t solo_ns = 300 * NS_PER_MS, co_ns = 700 * NS_PER_MS, edge_ns = 30 * NS_PER_MS;
static int64_t total_ns = 20 * NS_PER_S;
static double tolerated = 0.1; /* share of a stretch that a task may wait for a processor */
static enum counter_backend backend;
static const char *socket_path; /* poppad's, whose shutters are held meanwhile */
static int64_t shutters_ns = 2 * NS_PER_S;
static bool json, both;

static const struct argp_option options[] = {
	{"victim", KEY_VICTIM, "PID[,PID...]", 0, "tasks of the job to measure", 0},
	{"partner", KEY_PARTNER, "PID[,PID...]", 0, "tasks of its co-runner, which get stopped", 0},
	{"both", KEY_BOTH, NULL, 0, "measure the partner too, stopping the victim in turn", 0},
	{"solo", KEY_SOLO, "TIME", 0, "length of a solo stretch (default 300ms)", 0},
	{"co", KEY_CO, "TIME", 0, "length of a co-running stretch (default 700ms)", 0},
	{"edge", KEY_EDGE, "TIME", 0, "start and end of a stretch left out (default 30ms)", 0},
	{"for", KEY_FOR, "TIME", 0, "measure this long (default 20s)", 0},
	{"disturbed", KEY_DISTURBED, "PCT", 0,
		"leave a stretch out when others kept a task from its processor for more of it "
		"(default 10%)",
		0},
	{"socket", KEY_SOCKET, "PATH", 0,
		"poppad's socket: hold its shutters while stretches are measured", 0},
	{"shutters", KEY_SHUTTERS, "TIME", 0,
		"with --socket: let the shutters go on this long after each solo stretch of every "
		"measured job (default 2s)",
		0},
	{"counter", KEY_COUNTER, "NAME", 0, "auto, heartbeat, perf, papi or uprobe (default auto)",
		0},
	{"json", KEY_JSON, NULL, 0, "print the result as JSON", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct errmsg err;

	switch (key) {
	case KEY_VICTIM:
		meter_add_tasks(&job[VICTIM], "victim", arg, state);
		return 0;
	case KEY_PARTNER:
		meter_add_tasks(&job[PARTNER], "partner", arg, state);
		return 0;
	case KEY_BOTH:
		both = true;
		return 0;
	case KEY_SOLO:
		solo_ns = meter_duration("solo", arg, state);
		return 0;
	case KEY_CO:
		co_ns = meter_duration("co", arg, state);
		return 0;
	case KEY_EDGE:
		edge_ns = meter_duration("edge", arg, state);
		return 0;
	case KEY_FOR:
		total_ns = meter_duration("for", arg, state);
		return 0;
	case KEY_DISTURBED:
		if (units_parse_percent(arg, &tolerated, &err))
			argp_error(state, "--disturbed: %s", err.text);
		return 0;
	case KEY_SOCKET:
		socket_path = arg;
		return 0;
	case KEY_SHUTTERS:
		shutters_ns = meter_duration("shutters", arg, state);
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
		if (solo_ns < 2 * edge_ns + NS_PER_MS || co_ns < 2 * edge_ns + NS_PER_MS)
			argp_error(state, "a stretch must be longer than its two edges");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int measured(void)
{
	return both ? JOBS : 1;
}

/* What one stretch has shown. */
struct stretch {
	double rate[JOBS]; /* progress a second of the measured jobs */
	bool disturbed;    /* others took processor time from one of the jobs */
};

static int stretch(int64_t length, struct stretch *out)
{
	double waited[JOBS];
	int64_t start = meter_now_ns();

	for (int j = 0; j < JOBS; j++)
		waited[j] = meter_waited_ns(&job[j]);
	if (meter_stretch(job, measured(), length, edge_ns, out->rate))
		return -1;
	out->disturbed = false;
	for (int j = 0; j < JOBS; j++)
		out->disturbed |= meter_waited_ns(&job[j]) - waited[j] >
				  tolerated * (double)(meter_now_ns() - start);
	return 0;
}

/* A stretch of job j alone. */
static int solo_stretch(int j, struct stretch *out)
{
	int other = j == VICTIM ? PARTNER : VICTIM, rc;

	watchdog_stop(other);
	rc = stretch(solo_ns, out);
	watchdog_resume(other);
	return rc;
}

static void take_pair(int j, const struct stretch *before, const struct stretch *solo,
	const struct stretch *after)
{
	struct pair p = {
		.co = (before->rate[j] + after->rate[j]) / 2,
		.solo = solo->rate[j],
		.disturbed = before->disturbed || solo->disturbed || after->disturbed,
	};

	if (p.solo <= 0 || pairs[j] == METER_MAX_PAIRS)
		return;
	pair[j][pairs[j]++] = p;
	disturbed[j] += p.disturbed;
}

/* Uses the undisturbed pairs, or all where these are too few. */
static void choose_pairs(int j)
{
	bool all = pairs[j] - disturbed[j] < METER_MIN_PAIRS;

	if (all && pairs[j] >= METER_MIN_PAIRS)
		error(0, 0,
			"task %d: in %d of %d solo stretches or beside them others kept a task "
			"from its processor: all are used, and the result is less certain",
			(int)job[j].pid[0], disturbed[j], pairs[j]);
	for (int i = 0; i < pairs[j]; i++) {
		const struct pair *p = &pair[j][i];

		if (p->disturbed && !all)
			continue;
		meter_add_ratio(&job[j], p->co / p->solo);
		rate_co[j] += p->co;
		rate_solo[j] += p->solo;
	}
}

/* A solo stretch of each measured job; -1 when it is over. */
static int round_of_stretches(struct stretch *before)
{
	struct stretch solo, after;

	for (int j = VICTIM; j < measured(); j++) {
		if (solo_stretch(j, &solo) || stretch(co_ns, &after))
			return -1;
		take_pair(j, before, &solo, &after);
		*before = after;
	}
	return meter_follow_threads(job, measured());
}

/* What poppad measures is to be compared with the truth of the same minutes: the two take turns. */
static void measure_in_turns(int64_t end)
{
	struct stretch before;
	int rc = 0;

	while (!rc && meter_now_ns() < end) {
		meter_hold(socket_path, true);
		rc = stretch(co_ns, &before) || round_of_stretches(&before);
		meter_hold(socket_path, false);
		rc = rc || meter_rest(shutters_ns);
	}
}

static void measure(void)
{
	int64_t end = meter_now_ns() + total_ns;
	struct stretch before;

	if (socket_path) {
		measure_in_turns(end);
		return;
	}
	if (stretch(co_ns, &before))
		return;
	while (meter_now_ns() < end)
		if (round_of_stretches(&before))
			return;
}

static json_t *job_json(int n, const struct meter_summary *s)
{
	const struct meter_job *j = &job[n];

	return json_pack("{s:o,s:s,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f}", "pids", meter_pids(j),
		"counter", counter_backend_name(counter_kind(j->counter[0])), "stretches", j->pairs,
		"disturbed", disturbed[n], "degradation", 1 - s->mean, "median", 1 - s->median,
		"sd", s->sd, "se", s->se, "rate_co", rate_co[n] / j->pairs, "rate_solo",
		rate_solo[n] / j->pairs);
}

/* Whether there was enough to report. */
static bool report(void)
{
	json_t *list = json_array(), *all;

	for (int n = 0; n < measured(); n++) {
		struct meter_job *j = &job[n];
		struct meter_summary s;

		choose_pairs(n);
		if (j->pairs < METER_MIN_PAIRS) {
			error(0, 0, "task %d: only %d solo stretches; %d are the least",
				(int)j->pid[0], j->pairs, METER_MIN_PAIRS);
			json_decref(list);
			return false;
		}
		s = meter_summarise(j);
		json_array_append_new(list, job_json(n, &s));
		if (!json)
			printf("task %d%s: true degradation %.4f (standard error %.4f, median "
			       "%.4f, spread %.4f over %d solo stretches)\n",
				(int)j->pid[0], j->tasks > 1 ? " and others" : "", 1 - s.mean, s.se,
				1 - s.median, s.sd, j->pairs);
	}
	all = json_pack("{s:o}", "jobs", list);
	meter_show(all, json);
	return true;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Measures the degradation that a job suffers from its co-runner, by "
		       "stopping the co-runner for short stretches again and again. A job whose "
		       "tasks end, or a signal, ends the measurement early; what was stopped is "
		       "always resumed.",
	};
	static struct nodeconf conf;
	struct errmsg err;
	char path[4096];
	bool enough;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (nodeconf_load(nodeconf_path(path, sizeof(path)), &conf, &err))
		error(EXIT_FAILURE, 0, "%s", err.text);
	for (int j = 0; j < JOBS; j++) {
		pair[j] = calloc(METER_MAX_PAIRS, sizeof(*pair[j]));
		if (!pair[j])
			error(EXIT_FAILURE, errno, "memory");
		meter_open(&job[j], j < measured(), backend, &conf);
	}
	meter_catch_signals();
	watchdog_start(job, solo_ns);
	measure();
	enough = report();
	watchdog_end();
	for (int j = 0; j < JOBS; j++) {
		meter_close(&job[j]);
		free(pair[j]);
	}
	return enough ? EXIT_SUCCESS : EXIT_FAILURE;
}
