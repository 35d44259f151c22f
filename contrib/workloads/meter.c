/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates of running jobs over stretches of time. */
#include "meter.h"

#include <errno.h>
#include <error.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/units.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

bool meter_interrupted(void)
{
	return interrupted;
}

void meter_catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal};

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

int64_t meter_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t meter_duration(const char *option, const char *text, const struct argp_state *state)
{
	struct errmsg err;
	int64_t ns = 0;

	if (units_parse_duration(text, &ns, &err))
		argp_error(state, "--%s: %s", option, err.text);
	return ns;
}

void meter_add_tasks(
	struct meter_job *j, const char *option, char *list, const struct argp_state *state)
{
	struct errmsg err;
	int64_t pid = 0;

	for (char *save, *item = strtok_r(list, ",", &save); item;
		item = strtok_r(NULL, ",", &save)) {
		if (units_parse_int(item, 2, INT32_MAX, &pid, &err))
			argp_error(state, "--%s: %s", option, err.text);
		if (j->tasks == METER_MAX_TASKS)
			argp_error(state, "--%s: more than %d tasks", option, METER_MAX_TASKS);
		j->pid[j->tasks++] = (pid_t)pid;
	}
}

void meter_open(struct meter_job *j, bool measured, enum counter_backend backend,
	const struct nodeconf *conf)
{
	struct errmsg err;

	j->ratio = calloc(METER_MAX_PAIRS, sizeof(*j->ratio));
	if (!j->ratio)
		error(EXIT_FAILURE, errno, "memory");
	for (int i = 0; i < j->tasks; i++) {
		j->pidfd[i] = syscall(SYS_pidfd_open, j->pid[i], 0);
		if (j->pidfd[i] < 0)
			error(EXIT_FAILURE, errno, "task %d", (int)j->pid[i]);
		if (measured && counter_open(backend, conf, j->pid[i], &j->counter[i], &err))
			error(EXIT_FAILURE, 0, "%s", err.text);
	}
}

void meter_close(struct meter_job *j)
{
	for (int i = 0; i < j->tasks; i++) {
		counter_close(j->counter[i]);
		close(j->pidfd[i]);
	}
	free(j->ratio);
}

int meter_follow_threads(struct meter_job *job, int jobs)
{
	for (int j = 0; j < jobs; j++)
		for (int i = 0; i < job[j].tasks; i++)
			if (counter_refresh(job[j].counter[i]))
				return -1;
	return 0;
}

void meter_hold(const char *socket_path, bool hold)
{
	const char *request =
		hold ? "{\"op\":\"hold\",\"seconds\":60}\n" : "{\"op\":\"release\"}\n";
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

int meter_progress(struct meter_job *j, double *sum)
{
	struct counter_sample s;

	*sum = 0;
	for (int i = 0; i < j->tasks; i++) {
		if (counter_read(j->counter[i], &s))
			return -1;
		*sum += (double)s.progress;
	}
	return 0;
}

int meter_rest(int64_t ns)
{
	struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};

	while (ns > 0 && !interrupted && clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
	return interrupted ? -1 : 0;
}

int meter_stretch(struct meter_job *job, int jobs, int64_t length_ns, int64_t edge_ns, double *rate)
{
	double from[METER_MAX_JOBS], to;
	int64_t start[METER_MAX_JOBS];

	if (meter_rest(edge_ns))
		return -1;
	for (int j = 0; j < jobs; j++) {
		start[j] = meter_now_ns();
		if (meter_progress(&job[j], &from[j]))
			return -1;
	}
	if (meter_rest(length_ns - 2 * edge_ns))
		return -1;
	for (int j = 0; j < jobs; j++) {
		double seconds = (double)(meter_now_ns() - start[j]) / (double)NS_PER_S;

		if (meter_progress(&job[j], &to))
			return -1;
		rate[j] = (to - from[j]) / seconds;
	}
	return meter_rest(edge_ns);
}

/* Of the first thread: a runtime's helpers wait much and matter little. 0 where the kernel keeps no
 * such account. */
static double task_waited_ns(pid_t pid)
{
	unsigned long long ran, waited;
	char path[64];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fscanf(f, "%llu %llu", &ran, &waited);
	fclose(f);
	return n == 2 ? (double)waited : 0;
}

double meter_waited_ns(const struct meter_job *j)
{
	double sum = 0;

	for (int i = 0; i < j->tasks; i++)
		sum += task_waited_ns(j->pid[i]);
	return sum / j->tasks;
}

void meter_add_ratio(struct meter_job *j, double ratio)
{
	if (j->pairs < METER_MAX_PAIRS)
		j->ratio[j->pairs++] = ratio;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ratio[] is sorted. */
static void trim(const struct meter_job *j, struct meter_summary *s)
{
	int n = j->pairs, out = n / 10, kept = n - 2 * out;
	double mean = 0, square = 0, lowest = j->ratio[out], highest = j->ratio[n - 1 - out];

	for (int i = out; i < n - out; i++)
		s->robust += j->ratio[i] / kept;
	/* Winsorised: the outermost that is kept stands in for what is cut off. */
	for (int i = 0; i < n; i++)
		mean += fmin(fmax(j->ratio[i], lowest), highest) / n;
	for (int i = 0; i < n; i++) {
		double d = fmin(fmax(j->ratio[i], lowest), highest) - mean;

		square += d * d / (n - 1);
	}
	s->robust_se = sqrt(square) * sqrt(n) / kept;
}

struct meter_summary meter_summarise(struct meter_job *j)
{
	struct meter_summary s = {0};
	int n = j->pairs;

	qsort(j->ratio, (size_t)n, sizeof(*j->ratio), by_size);
	s.median = (j->ratio[n / 2] + j->ratio[(n - 1) / 2]) / 2;
	for (int i = 0; i < n; i++)
		s.mean += j->ratio[i] / n;
	for (int i = 0; i < n; i++)
		s.sd += (j->ratio[i] - s.mean) * (j->ratio[i] - s.mean) / (n - 1);
	s.sd = sqrt(s.sd);
	s.se = s.sd / sqrt(n);
	trim(j, &s);
	return s;
}

json_t *meter_pids(const struct meter_job *j)
{
	json_t *pids = json_array();

	for (int i = 0; i < j->tasks; i++)
		json_array_append_new(pids, json_integer(j->pid[i]));
	return pids;
}

void meter_show(json_t *result, bool json)
{
	if (json) {
		json_dumpf(result, stdout, JSON_REAL_PRECISION(6));
		putchar('\n');
	}
	json_decref(result);
}
