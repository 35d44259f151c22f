/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the meters of running jobs share: tasks, rates over stretches of time, paired ratios. */
#pragma once

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/nodeconf.h"
#include "poppa/counter/counter.h"

#define METER_MAX_JOBS 8
#define METER_MAX_TASKS 1024
#define METER_MAX_PAIRS 100000
#define METER_MIN_PAIRS 3 /* fewer say nothing about the spread */

/* One job's tasks, and the ratios found so far. */
struct meter_job {
	pid_t pid[METER_MAX_TASKS];
	int pidfd[METER_MAX_TASKS];
	struct counter *counter[METER_MAX_TASKS];
	int tasks;
	double *ratio;
	int pairs;
};

/* Of the ratios; the robust pair leaves a tenth out at either end (trimmed mean, and its standard
 * error after Tukey and McLaughlin). */
struct meter_summary {
	double mean, median, sd, se;
	double robust, robust_se;
};

/* Set by SIGINT, SIGTERM or SIGHUP after meter_catch_signals(): the measurement ends early. */
bool meter_interrupted(void);
void meter_catch_signals(void);

int64_t meter_now_ns(void);
int64_t meter_duration(const char *option, const char *text, const struct argp_state *state);

/* Adds a comma list of pids to the job; a bad one ends the program through argp_error(). */
void meter_add_tasks(
	struct meter_job *j, const char *option, char *list, const struct argp_state *state);

/* Opens the tasks' pidfds and, when measured, their counters; a failure ends the program. */
void meter_open(struct meter_job *j, bool measured, enum counter_backend backend,
	const struct nodeconf *conf);
void meter_close(struct meter_job *j);

/* Takes new threads in, between stretches; -1 when a task has ended. */
int meter_follow_threads(struct meter_job *job, int jobs);

/*
 * Asks poppad at its socket to keep its shutters back (at most a minute, should this program not
 * come to release them) or to let them go on. A refusal ends the program.
 */
void meter_hold(const char *socket_path, bool hold);

/* Progress of all tasks of a job so far; -1 when one of them has ended. */
int meter_progress(struct meter_job *j, double *sum);

/* Sleeps; -1 when a signal asks for the end. */
int meter_rest(int64_t ns);

/*
 * The rates of `jobs` (at most METER_MAX_JOBS) jobs over one stretch without its edges, in progress
 * a second; -1 when a task ended or a signal asks for the end.
 */
int meter_stretch(
	struct meter_job *job, int jobs, int64_t length_ns, int64_t edge_ns, double *rate);

/* Time in ns that a task of the job has waited for a processor since its start, on average. */
double meter_waited_ns(const struct meter_job *j);

void meter_add_ratio(struct meter_job *j, double ratio);

/* Needs METER_MIN_PAIRS ratios; sorts them. */
struct meter_summary meter_summarise(struct meter_job *j);

/* The job's pids as a JSON array; a new reference. */
json_t *meter_pids(const struct meter_job *j);

/* Prints the result on a line if it is wanted as JSON, and drops the reference. */
void meter_show(json_t *result, bool json);
