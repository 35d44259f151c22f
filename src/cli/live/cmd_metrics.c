/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa metrics: what poppad or the ledger knows, in Prometheus' text format. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounting/record/client.h"
#include "cli/ask/cli.h"
#include "cli/ask/ask_poppad.h"
#include "cli/live/metrics.h"
#include "cli/ask/find_ledger.h"
#include "cli/ask/value_text.h"
#include "poppa/measure/overhead_limit.h"

/* The time in which poppad measures its cost, as text: OVERHEAD_WINDOW_S. */
#define TEXT_OF(value) #value
#define TEXT_OF_VALUE(macro) TEXT_OF(macro)
#define COST_WINDOW TEXT_OF_VALUE(OVERHEAD_WINDOW_S)

struct options {
	bool ledger, no_jobs;
	const char *output;
	struct ask_poppad_options daemon;
};

/* A metric that is one number of an answer. */
struct number {
	const char *name;
	enum metric_type type;
	const char *path; /* as in value_at(); no sample where it is missing or null */
	double scale;
	const char *help;
};

static const struct number node_numbers[] = {
	{"poppa_waiting_for_slurmd", METRIC_GAUGE, "waiting_for_slurmd", 1,
		"1 while slurmd has not told poppad about the cluster"},
	{"poppa_hold_seconds", METRIC_GAUGE, "hold_s", 1,
		"For so long shutters are still held off on request"},
	{"poppa_shutters_active", METRIC_GAUGE, "totals.active", 1, "1 while shutters go on"},
	{"poppa_shutters_total", METRIC_COUNTER, "totals.shutters", 1, "Shutters so far"},
	{"poppa_windows_total", METRIC_COUNTER, "totals.windows", 1,
		"Readings taken in shutters of use"},
	{"poppa_longest_stop_seconds", METRIC_GAUGE, "totals.longest_stop_ns", 1e-9,
		"Longest time that a shutter held jobs stopped"},
	{"poppa_overhead_ratio", METRIC_GAUGE, "totals.overhead", 1,
		"Share of the co-located time for which jobs were held stopped"},
	{"poppa_overhead_model_ratio", METRIC_GAUGE, "totals.overhead_model", 1,
		"The same by the model, for the jobs there are now"},
	{"poppa_shutter_cpu_seconds_total", METRIC_COUNTER, "totals.shutter_cpu_s", 1,
		"Processor time of the thread that opens shutters"},
	{"poppa_shams_total", METRIC_COUNTER, "totals.shams", 1,
		"Shutters of use that were to stop nobody"},
	{"poppa_period_seconds", METRIC_GAUGE, "totals.period_s", 1,
		"Period between shutters, as it is lengthened to hold the cost"},
	{"poppa_period_lengthened", METRIC_GAUGE, "totals.cost.capped", 1,
		"1 while the period is lengthened to hold the cost below poppa_overhead_max"},
	{"poppa_cost_held_ratio", METRIC_GAUGE, "totals.cost.held", 1,
		"Share of the last " COST_WINDOW " s for which jobs were held stopped"},
	{"poppa_cost_cpu_ratio", METRIC_GAUGE, "totals.cost.cpu", 1,
		"Share of the node's processors that poppad took in the last " COST_WINDOW " s"},
	{"poppa_cost_max_ratio", METRIC_GAUGE, "totals.cost.max", 1,
		"What either may be: poppa_overhead_max"},
	{"poppa_turns_active", METRIC_GAUGE, "totals.turns.on", 1,
		"1 while jobs are held for the turns of others"},
	{"poppa_turn_slices_total", METRIC_COUNTER, "totals.turns.slices", 1,
		"Slices in which one job ran and the others were held"},
	{"poppa_turn_slices_disturbed_total", METRIC_COUNTER, "totals.turns.disturbed", 1,
		"Those that ended early because somebody signalled or froze a job"},
	{"poppa_spool_records", METRIC_GAUGE, "spool.records", 1,
		"Final records that the ledger has not acknowledged"},
	{"poppa_spool_refused", METRIC_GAUGE, "spool.refused", 1,
		"Records that the ledger refused and that are kept aside"},
	{"poppa_spool_bad", METRIC_GAUGE, "spool.bad", 1, "Unreadable records that are kept aside"},
};

static const struct number job_numbers[] = {
	{"poppa_job_degradation_ratio", METRIC_GAUGE, "degradation", 1,
		"Share of its co-located time that the job loses to its co-runners"},
	{"poppa_job_degradation_low_ratio", METRIC_GAUGE, "ci95.0", 1,
		"Lower end of the 95 % interval of the degradation"},
	{"poppa_job_degradation_high_ratio", METRIC_GAUGE, "ci95.1", 1,
		"Upper end of the 95 % interval of the degradation"},
	{"poppa_job_thesis_degradation_ratio", METRIC_GAUGE, "thesis_degradation", 1,
		"Degradation by Algorithm 4 of the thesis"},
	{"poppa_job_blocks_total", METRIC_COUNTER, "blocks", 1,
		"Shutters in which the job ran alone"},
	{"poppa_job_blocks_used", METRIC_GAUGE, "used", 1, "Those of use for its degradation"},
	{"poppa_job_colocated_seconds_total", METRIC_COUNTER, "co_s", 1, "Time beside co-runners"},
	{"poppa_job_solo_seconds_total", METRIC_COUNTER, "solo_s", 1, "Time without a co-runner"},
	{"poppa_job_paused_seconds_total", METRIC_COUNTER, "paused_s", 1,
		"Time for which shutters held the job stopped"},
	{"poppa_job_turned_seconds_total", METRIC_COUNTER, "turned_s", 1,
		"Time for which the job was held for the turns of its co-runners"},
	{"poppa_job_max_degradation_ratio", METRIC_GAUGE, "max_degradation", 1,
		"What the job may lose to its co-runners, where it has a limit"},
	{"poppa_job_limit_unkept", METRIC_GAUGE, "unkept", 1,
		"1 for a job that loses more than its limit, and the node cannot keep it from that"},
	{"poppa_job_unmeasured_seconds_total", METRIC_COUNTER, "unmeasured_s", 1,
		"Time beside co-runners without shutters"},
	{"poppa_job_tasks", METRIC_GAUGE, "tasks", 1, "Application processes"},
	{"poppa_job_counted_tasks", METRIC_GAUGE, "counted_tasks", 1, "Those with a counter"},
	{"poppa_job_level", METRIC_GAUGE, "level", 1,
		"Shutters of the job are a factor of 2^level rarer than poppa_period"},
	{"poppa_job_block_interval_seconds", METRIC_GAUGE, "block_every_s", 1,
		"Mean time between shutters in which the job runs alone"},
	{"poppa_job_shutter_sensing", METRIC_GAUGE, "shutter_sensing", 1,
		"1 for a job that reacts to shutters that stop nobody: it gets no discount"},
	{"poppa_job_ran_while_held_total", METRIC_COUNTER, "ran_while_held", 1,
		"Shutters of no use because the job ran while it was to be held stopped"},
	{"poppa_job_lane", METRIC_GAUGE, "lane", 1, "Lane of the node that the job has"},
	{"poppa_job_cores", METRIC_GAUGE, "cores", 1, "Cores of the lane"},
};

static const struct number ledger_numbers[] = {
	{"poppa_ledger_uptime_seconds", METRIC_GAUGE, "uptime", 1,
		"Time since poppa-ledgerd started"},
	{"poppa_ledger_records", METRIC_GAUGE, "stored.records", 1, "Records in the ledger"},
	{"poppa_ledger_settlements", METRIC_GAUGE, "stored.settlements", 1,
		"Settled runs in the ledger"},
	{"poppa_ledger_requests_total", METRIC_COUNTER, "since_start.requests", 1,
		"Requests since the start"},
	{"poppa_ledger_events", METRIC_GAUGE, "stored.events", 1,
		"Entries of the append-only log of prices"},
	{"poppa_ledger_set_aside", METRIC_GAUGE, "set_aside", 1,
		"Damaged databases that were set aside and lie beside the ledger"},
	{"poppa_ledger_new_records_total", METRIC_COUNTER, "since_start.records", 1,
		"Records stored since the start"},
	{"poppa_ledger_stale_records_total", METRIC_COUNTER, "since_start.stale_records", 1,
		"Records that were no news, since the start"},
	{"poppa_ledger_new_settlements_total", METRIC_COUNTER, "since_start.settlements", 1,
		"Runs settled since the start"},
	{"poppa_ledger_repeated_settlements_total", METRIC_COUNTER,
		"since_start.repeated_settlements", 1,
		"Settlements of runs that had one, since the start: the first stays"},
	{"poppa_ledger_restored_settlements_total", METRIC_COUNTER,
		"since_start.restored_settlements", 1,
		"Lost settlements brought back since the start, as by poppa ledger rebuild"},
	{"poppa_ledger_changes_total", METRIC_COUNTER, "since_start.changes", 1,
		"Prices that administrators have changed since the start"},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { OPT_NO_JOBS = CLI_OPT_FIRST };

static const struct argp_option option_table[] = {
	{"output", 'o', "FILE", 0,
		"Replace FILE in one step; \"-\", the default, is standard output", 0},
	{"ledger", 'l', NULL, 0, "Of the cluster's ledger instead of this node's poppad", 0},
	{"no-jobs", OPT_NO_JOBS, NULL, 0, "Of the node as a whole only: no series of a job", 0},
	ASK_POPPAD_OPTIONS, CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o':
		o->output = cli_path("--output", arg);
		return 0;
	case 'l':
		o->ledger = true;
		return 0;
	case OPT_NO_JOBS:
		o->no_jobs = true;
		return 0;
	default:
		return ask_poppad_parse_rest(key, arg, &o->daemon);
	}
}

/* The number at a path, NAN where there is none; true is 1. */
static double at(const json_t *answer, const char *path)
{
	const json_t *v = value_at(answer, path);

	return json_is_boolean(v)  ? json_is_true(v)
	       : json_is_number(v) ? json_number_value(v)
				   : NAN;
}

static void put_numbers(struct metrics *m, const struct number *numbers, size_t count,
	const json_t *answer, const json_t *labels)
{
	for (size_t i = 0; i < count; i++) {
		metrics_family(m, numbers[i].name, numbers[i].type, numbers[i].help);
		metrics_value(m, labels, numbers[i].scale * at(answer, numbers[i].path));
	}
}

static void put_one(
	struct metrics *m, const char *name, const char *help, const json_t *labels, double value)
{
	metrics_family(m, name, METRIC_GAUGE, help);
	metrics_value(m, labels, value);
}

/* A copy of labels with one label more; a new reference. */
static json_t *with(const json_t *labels, const char *key, const char *value)
{
	json_t *more = json_copy((json_t *)labels);

	json_object_set_new(more, key, json_string(value));
	return more;
}

/* What of the jobs is of the node as a whole: as many series, however many jobs there are. */
struct sums {
	double count, measured, loss, largest, without_counter, stopped, unkept, sensing;
};

static struct sums sum_jobs(const json_t *jobs)
{
	struct sums s = {.count = (double)json_array_size(jobs), .largest = NAN};
	const json_t *job;
	size_t i;

	json_array_foreach(jobs, i, job)
	{
		double d = at(job, "degradation");

		if (!isnan(d)) {
			s.measured++;
			s.loss += d;
			s.largest = isnan(s.largest) || d > s.largest ? d : s.largest;
		}
		s.without_counter +=
			value_whole(job, "tasks") > 0 && value_whole(job, "counted_tasks") == 0;
		s.stopped += !strcmp(value_text(job, "state"), "stopped");
		s.unkept += at(job, "unkept") > 0;
		s.sensing += at(job, "shutter_sensing") > 0;
	}
	return s;
}

static void put_sums(struct metrics *m, const json_t *status, const json_t *labels)
{
	const struct sums s = sum_jobs(json_object_get(status, "jobs"));
	const struct {
		const char *name, *help;
		double value;
	} all[] = {
		{"poppa_jobs", "Co-located jobs on the node", s.count},
		{"poppa_jobs_measured", "Those of which a degradation is known", s.measured},
		{"poppa_jobs_degradation_sum_ratio", "Sum of these degradations", s.loss},
		{"poppa_jobs_degradation_max_ratio", "The largest of them", s.largest},
		{"poppa_jobs_without_signal", "Jobs with tasks of which none has a counter",
			s.without_counter},
		{"poppa_jobs_stopped", "Jobs that somebody else than poppad has stopped",
			s.stopped},
		{"poppa_jobs_limit_unkept",
			"Jobs that lose more than their limit, and the node cannot keep them from "
			"that",
			s.unkept},
		{"poppa_jobs_shutter_sensing", "Jobs that react to shutters that stop nobody",
			s.sensing},
	};

	for (size_t i = 0; i < COUNT(all); i++)
		put_one(m, all[i].name, all[i].help, labels, status ? all[i].value : NAN);
}

static void put_node(struct metrics *m, const json_t *status, const json_t *labels)
{
	const json_t *reasons = json_object_get(json_object_get(status, "totals"), "discarded");
	json_t *more = with(labels, "version", value_text(status, "version"));
	const json_t *v;
	const char *key;

	put_one(m, "poppa_up", "1 where poppad answers", labels, status ? 1 : 0);
	put_one(m, "poppa_build_info", "Version of poppad", more, status ? 1 : NAN);
	json_decref(more);
	put_one(m, "poppa_guard_up",
		"1 while a guard is on watch: without it there are no shutters", labels,
		status ? value_whole(status, "guard_pid") > 0 : NAN);
	put_one(m, "poppa_settings_good",
		"0 while PrEpParameters holds something that poppad refused", labels,
		status ? !json_is_string(json_object_get(status, "bad_settings")) : NAN);
	put_sums(m, status, labels);
	put_numbers(m, node_numbers, COUNT(node_numbers), status, labels);
	metrics_family(m, "poppa_shutters_discarded_total", METRIC_COUNTER,
		"Shutters of no use, by reason");
	json_object_foreach((json_t *)reasons, key, v)
	{
		more = with(labels, "reason", key);
		metrics_value(m, more, json_number_value(v));
		json_decref(more);
	}
}

static void add_number(json_t *labels, const char *key, json_int_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, value);
	json_object_set_new(labels, key, json_string(text));
}

static json_t *job_labels(const json_t *job, const json_t *labels)
{
	json_t *own = with(labels, "user", value_text(job, "user"));

	add_number(own, "jobid", value_whole(job, "job"));
	add_number(own, "restart", value_whole(job, "restart"));
	return own;
}

/* The format wants all samples of a metric together, so each metric goes through all jobs. */
static void put_jobs(struct metrics *m, const json_t *status, const json_t *labels)
{
	const json_t *jobs = json_object_get(status, "jobs"), *job, *v;
	size_t i, k;

	for (size_t n = 0; n < COUNT(job_numbers); n++) {
		metrics_family(m, job_numbers[n].name, job_numbers[n].type, job_numbers[n].help);
		json_array_foreach(jobs, i, job)
		{
			json_t *own = job_labels(job, labels);

			metrics_value(m, own, job_numbers[n].scale * at(job, job_numbers[n].path));
			json_decref(own);
		}
	}
	metrics_family(m, "poppa_job_info", METRIC_GAUGE,
		"Counter backend, state and way of pausing of a job");
	json_array_foreach(jobs, i, job)
	{
		json_t *own = job_labels(job, labels);

		json_object_set_new(own, "backend", json_string(value_text(job, "backend")));
		json_object_set_new(own, "state", json_string(value_text(job, "state")));
		json_object_set_new(own, "pause", json_string(value_text(job, "pause")));
		metrics_value(m, own, 1);
		json_decref(own);
	}
	metrics_family(m, "poppa_job_partner_degradation_ratio", METRIC_GAUGE,
		"What each of several co-runners costs the job");
	json_array_foreach(jobs, i, job)
	{
		json_array_foreach(json_object_get(job, "attribution"), k, v)
		{
			json_t *own = job_labels(job, labels);

			add_number(own, "partner", value_whole(v, "job"));
			metrics_value(m, own, value_real(v, "degradation"));
			json_decref(own);
		}
	}
}

/* Where this node's poppad does not answer, poppa_up is 0 and this is no error. */
static void collect_node(struct metrics *m, const struct options *o)
{
	char path[PATH_MAX], host[256];
	struct errmsg err;
	json_t *status = ask_poppad_status(&o->daemon, path, &err), *labels;

	if (!status) {
		const char *node = o->daemon.node ? o->daemon.node : getenv("SLURMD_NODENAME");

		cli_error("%s", err.text);
		labels =
			json_pack("{s:s}", "node", node ? node : nodeconf_host(host, sizeof(host)));
	} else {
		labels = json_pack("{s:s, s:s}", "node", value_text(status, "node"), "cluster",
			value_text(status, "cluster"));
	}
	put_node(m, status, labels);
	if (!o->no_jobs)
		put_jobs(m, status, labels);
	json_decref(labels);
	json_decref(status);
}

static void collect_ledger(struct metrics *m, const struct options *o)
{
	char cluster[64] = "";
	struct client client;
	json_t *status = NULL, *waiting = NULL, *labels, *more, *one;
	const char *kind;
	struct errmsg err;

	if (find_ledger(o->daemon.conf, &client, cluster, &err) == 0)
		status = client_status(&client, &err);
	if (!status)
		cli_error("%s", err.text);
	else if (geteuid() == 0 && *cluster)
		waiting = client_unsettled(&client, cluster, &err);
	labels = json_pack("{s:s}", "cluster", cluster);
	put_one(m, "poppa_ledger_up", "1 where poppa-ledgerd answers", labels, status ? 1 : 0);
	more = with(labels, "version", value_text(status, "version"));
	put_one(m, "poppa_ledger_build_info", "Version of poppa-ledgerd", more, status ? 1 : NAN);
	json_decref(more);
	put_numbers(m, ledger_numbers, COUNT(ledger_numbers), status, labels);
	metrics_family(m, "poppa_ledger_refused_total", METRIC_COUNTER,
		"What the ledger has turned away since it was begun, by kind");
	json_object_foreach(json_object_get(status, "refused"), kind, one)
	{
		more = with(labels, "kind", kind);
		metrics_value(m, more, value_real(one, "count"));
		json_decref(more);
	}
	put_one(m, "poppa_ledger_unsettled_runs",
		"Ended runs whose bill waits to be settled (1000 at most are counted)", labels,
		waiting ? (double)json_array_size(waiting) : NAN);
	json_decref(labels);
	json_decref(waiting);
	json_decref(status);
}

int cmd_metrics(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "What this node's poppad measures, in the text format of Prometheus, for "
		       "node_exporter's textfile collector. Run as root it has all jobs. Where "
		       "poppad does not answer poppa_up is 0, and the exit status is 0."};
	struct options o = {.output = "-"};
	struct metrics *m;
	size_t len;
	char *text;
	int rc;

	cli_parse(&argp, argc, argv, &o);
	m = metrics_new();
	if (m && o.ledger)
		collect_ledger(m, &o);
	else if (m)
		collect_node(m, &o);
	text = m ? metrics_finish(m, o.daemon.json, &len) : NULL;
	if (!text)
		return cli_error("out of memory");
	rc = cli_output("--output", o.output, text, len, 0644);
	free(text);
	return rc;
}
