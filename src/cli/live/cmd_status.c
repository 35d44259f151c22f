/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa status: what this node's poppad does now. */
#include <limits.h>
#include <stdio.h>

#include "cli/ask/cli.h"
#include "cli/ask/ask_poppad.h"
#include "cli/ask/value_text.h"

static const struct argp_option option_table[] = {ASK_POPPAD_OPTIONS, CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	return ask_poppad_parse_rest(key, arg, state->input);
}

static void print_job(const json_t *job)
{
	struct value_cell d, ci, co, solo, held, turned, partners;

	printf("%10" JSON_INTEGER_FORMAT " %-10.10s %4" JSON_INTEGER_FORMAT
	       " %5" JSON_INTEGER_FORMAT " %-9s %-14s %11s  %-16s %7" JSON_INTEGER_FORMAT
	       " %9s %9s %8s %9s  %s\n",
		value_whole(job, "job"), value_text(job, "user"), value_whole(job, "lane"),
		value_whole(job, "tasks"), value_text(job, "backend"), value_text(job, "state"),
		value_number(&d, 4, value_real(job, "degradation")),
		value_interval(&ci, 4, 1, " to ", json_object_get(job, "ci95")),
		value_whole(job, "used"), value_number(&co, 1, value_real(job, "co_s")),
		value_number(&solo, 1, value_real(job, "solo_s")),
		value_number(&held, 3, value_real(job, "paused_s")),
		value_number(&turned, 1, value_real(job, "turned_s")),
		value_partners(&partners, job));
}

static void print_totals(const json_t *status)
{
	const json_t *totals = json_object_get(status, "totals");
	const json_t *cost = json_object_get(totals, "cost");
	struct value_cell seen, model;

	if (!totals)
		return;
	printf("shutters  %" JSON_INTEGER_FORMAT
	       "%s; held stopped %s %% of co-located time (model: %s "
	       "%%); longest stop %.2f ms\n",
		value_whole(totals, "shutters"),
		json_is_true(json_object_get(totals, "active")) ? "" : ", none now",
		value_number(&seen, 3, 100 * value_real(totals, "overhead")),
		value_number(&model, 3, 100 * value_real(totals, "overhead_model")),
		(double)value_whole(totals, "longest_stop_ns") / 1e6);
	value_turns(stdout, totals);
	if (json_is_true(json_object_get(cost, "capped")))
		printf("          the period is lengthened for poppa_overhead_max=%.6g%%: lately "
		       "%s %% held, %s %% of the node's processors\n",
			100 * value_real(cost, "max"),
			value_number(&seen, 3, 100 * value_real(cost, "held")),
			value_number(&model, 3, 100 * value_real(cost, "cpu")));
}

/* What a job that begins now is believed to get back slowly. */
static void print_prior(const json_t *prior)
{
	const char *type = value_text(prior, "node_type");

	if (prior)
		printf("refill    nothing slow %.0f %%, some %.0f %%, perhaps all %.0f %% likely "
		       "at first; %s\n",
			100 * value_real(prior, "none"), 100 * value_real(prior, "narrow"),
			100 * value_real(prior, "wide"), *type ? type : "processor unknown");
}

static void print_status(const json_t *status)
{
	const json_t *jobs = json_object_get(status, "jobs"), *job;
	size_t i;

	printf("node      %s, cluster %s\n", value_text(status, "node"),
		value_text(status, "cluster"));
	printf("poppad    %s, pid %" JSON_INTEGER_FORMAT, value_text(status, "version"),
		value_whole(status, "pid"));
	if (value_whole(status, "guard_pid"))
		printf(", guard %" JSON_INTEGER_FORMAT, value_whole(status, "guard_pid"));
	putchar('\n');
	value_notes(stdout, status);
	printf("settings  %s\n", value_text(status, "settings"));
	print_prior(json_object_get(status, "slow_prior"));
	print_totals(status);
	if (json_array_size(jobs) == 0) {
		puts("jobs      none co-located here that you may see");
		return;
	}
	printf("\n%10s %-10s %4s %5s %-9s %-14s %11s  %-16s %7s %9s %9s %8s %9s  %s\n", "job",
		"user", "lane", "tasks", "backend", "state", "degradation", "95% interval",
		"blocks", "co s", "solo s", "held s", "turned s", "partners");
	json_array_foreach(jobs, i, job)
	{
		print_job(job);
	}
}

int cmd_status(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "What this node's poppad does now: settings, shutters, jobs and their "
		       "degradation. Users see their own jobs, root sees all."};
	struct ask_poppad_options o = {.json = false};
	char path[PATH_MAX];
	struct errmsg err;
	json_t *status;

	cli_parse(&argp, argc, argv, &o);
	status = ask_poppad_status(&o, path, &err);
	if (!status)
		return cli_error("%s", err.text);
	if (o.json)
		return cli_print_json(status);
	print_status(status);
	json_decref(status);
	return CLI_OK;
}
