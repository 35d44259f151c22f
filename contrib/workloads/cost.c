/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures what poppad costs the jobs of a node, by holding its shutters for every other stretch.
 */
/*
 * The machine's mood drifts, so stretches with shutters alternate with stretches without, within
 * the same seconds, and each stretch with shutters is held against its two neighbours.
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/units.h"
#include "meter.h"

enum { KEY_JOB = 'J', KEY_SOCKET = 's', KEY_JSON = 'j', KEY_FOR = 256, KEY_STRETCH };

static struct meter_job job[METER_MAX_JOBS];
static int jobs;
static const char *socket_path;
static int64_t stretch_ns = NS_PER_S, total_ns = 40 * NS_PER_S;
static bool json;

static const struct argp_option options[] = {
	{"job", KEY_JOB, "PID[,PID...]", 0, "tasks of one job; repeat it for each job of the node",
		0},
	{"socket", KEY_SOCKET, "PATH", 0, "poppad's socket (RunDir/poppad.sock)", 0},
	{"stretch", KEY_STRETCH, "TIME", 0, "length of a stretch (default 1s)", 0},
	{"for", KEY_FOR, "TIME", 0, "measure this long (default 40s)", 0},
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
	case KEY_JSON:
		json = true;
		return 0;
	case ARGP_KEY_END:
		if (!jobs || !socket_path)
			argp_error(state, "give --job and --socket");
		if (stretch_ns < 100 * NS_PER_MS)
			argp_error(state, "a stretch must last 100ms at least");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* One request, one reply; anything but success ends the program, as poppad resumes by itself. */
static void ask(const char *request)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char reply[256] = "";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t n;

	if (strlen(socket_path) >= sizeof(at.sun_path))
		error(EXIT_FAILURE, 0, "%s: the path of a socket has at most %zu characters",
			socket_path, sizeof(at.sun_path) - 1);
	strcpy(at.sun_path, socket_path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) ||
		write(fd, request, strlen(request)) != (ssize_t)strlen(request))
		error(EXIT_FAILURE, errno, "poppad does not answer at %s", socket_path);
	n = read(fd, reply, sizeof(reply) - 1);
	if (n <= 0 || strstr(reply, "\"error\""))
		error(EXIT_FAILURE, 0, "poppad refused: %s", reply);
	close(fd);
}

static void measure(void)
{
	const char *hold = "{\"op\":\"hold\",\"seconds\":60}\n",
		   *release = "{\"op\":\"release\"}\n";
	double before[METER_MAX_JOBS], with[METER_MAX_JOBS], after[METER_MAX_JOBS];
	int64_t end = meter_now_ns() + total_ns, edge_ns = 20 * NS_PER_MS;

	ask(hold);
	if (meter_stretch(job, jobs, stretch_ns, edge_ns, before))
		return;
	while (meter_now_ns() < end) {
		ask(release);
		if (meter_stretch(job, jobs, stretch_ns, edge_ns, with))
			break;
		ask(hold);
		if (meter_stretch(job, jobs, stretch_ns, edge_ns, after))
			break;
		for (int j = 0; j < jobs; j++)
			if (before[j] + after[j] > 0)
				meter_add_ratio(&job[j], with[j] / ((before[j] + after[j]) / 2));
		memcpy(before, after, sizeof(before));
		if (meter_follow_threads(job, jobs))
			break;
	}
	ask(release);
}

static int report(void)
{
	json_t *list = json_array(), *all;
	double sum = 0;

	for (int j = 0; j < jobs; j++) {
		struct meter_summary s;

		if (job[j].pairs < METER_MIN_PAIRS) {
			error(0, 0, "only %d stretches with shutters; %d are the least",
				job[j].pairs, METER_MIN_PAIRS);
			json_decref(list);
			return EXIT_FAILURE;
		}
		s = meter_summarise(&job[j]);
		sum += 1 - s.median;
		if (!json)
			printf("task %d%s: poppad costs %.2f %% (standard error %.2f %%, %d "
			       "stretches)\n",
				(int)job[j].pid[0], job[j].tasks > 1 ? " and others" : "",
				100 * (1 - s.median), 100 * s.se, job[j].pairs);
		json_array_append_new(
			list, json_pack("{s:o,s:i,s:f,s:f,s:f}", "pids", meter_pids(&job[j]),
				      "stretches", job[j].pairs, "cost", 1 - s.median, "mean",
				      1 - s.mean, "se", s.se));
	}
	if (!json)
		printf("all jobs: %.2f %%\n", 100 * sum / jobs);
	all = json_pack("{s:o,s:f}", "jobs", list, "cost", sum / jobs);
	if (json) {
		json_dumpf(all, stdout, JSON_REAL_PRECISION(6));
		putchar('\n');
	}
	json_decref(all);
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
	measure();
	rc = report();
	for (int j = 0; j < jobs; j++)
		meter_close(&job[j]);
	return rc;
}
