/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa status: what this node's poppad does now. */
#include <limits.h>
#include <stdio.h>

#include "cli/ask/cli.h"
#include "cli/ask/daemon.h"
#include "cli/ask/value_text.h"

struct options {
	bool json;
	struct daemon_options daemon;
};

static const struct argp_option option_table[] = {DAEMON_OPTIONS, CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (daemon_parse_option(key, arg, &o->daemon) == 0)
		return 0;
	return cli_parse_rest(key, arg, &o->json);
}

static void print_job(const json_t *job)
{
	struct show_cell d, ci, co, solo, held, partners;

	printf("%10" JSON_INTEGER_FORMAT " %-10.10s %4" JSON_INTEGER_FORMAT
	       " %5" JSON_INTEGER_FORMAT " %-9s %-14s %11s  %-16s %7" JSON_INTEGER_FORMAT
	       " %9s %9s %8s  %s\n",
		show_whole(job, "job"), show_text(job, "user"), show_whole(job, "lane"),
		show_whole(job, "tasks"), show_text(job, "backend"), show_text(job, "state"),
		show_number(&d, 4, show_real(job, "degradation")),
		show_interval(&ci, 4, 1, " to ", json_object_get(job, "ci95")),
		show_whole(job, "used"), show_number(&co, 1, show_real(job, "co_s")),
		show_number(&solo, 1, show_real(job, "solo_s")),
		show_number(&held, 3, show_real(job, "paused_s")), show_partners(&partners, job));
}

static void print_totals(const json_t *status)
{
	const json_t *totals = json_object_get(status, "totals");
	const json_t *cost = json_object_get(totals, "cost");
	struct show_cell seen, model;

	if (!totals)
		return;
	printf("shutters  %" JSON_INTEGER_FORMAT
	       "%s; held stopped %s %% of co-located time (model: %s "
	       "%%); longest stop %.2f ms\n",
		show_whole(totals, "shutters"),
		json_is_true(json_object_get(totals, "active")) ? "" : ", none now",
		show_number(&seen, 3, 100 * show_real(totals, "overhead")),
		show_number(&model, 3, 100 * show_real(totals, "overhead_model")),
		(double)show_whole(totals, "longest_stop_ns") / 1e6);
	if (json_is_true(json_object_get(cost, "capped")))
		printf("          the period is lengthened for poppa_overhead_max=%.6g%%: lately "
		       "%s %% held, %s %% of the node's processors\n",
			100 * show_real(cost, "max"),
			show_number(&seen, 3, 100 * show_real(cost, "held")),
			show_number(&model, 3, 100 * show_real(cost, "cpu")));
}

static void print_status(const json_t *status)
{
	const json_t *jobs = json_object_get(status, "jobs"), *job;
	size_t i;

	printf("node      %s, cluster %s\n", show_text(status, "node"),
		show_text(status, "cluster"));
	printf("poppad    %s, pid %" JSON_INTEGER_FORMAT, show_text(status, "version"),
		show_whole(status, "pid"));
	if (show_whole(status, "guard_pid"))
		printf(", guard %" JSON_INTEGER_FORMAT, show_whole(status, "guard_pid"));
	putchar('\n');
	show_notes(stdout, status);
	printf("settings  %s\n", show_text(status, "settings"));
	print_totals(status);
	if (json_array_size(jobs) == 0) {
		puts("jobs      none co-located here that you may see");
		return;
	}
	printf("\n%10s %-10s %4s %5s %-9s %-14s %11s  %-16s %7s %9s %9s %8s  %s\n", "job", "user",
		"lane", "tasks", "backend", "state", "degradation", "95% interval", "blocks",
		"co s", "solo s", "held s", "partners");
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
	struct options o = {.json = false};
	char path[PATH_MAX];
	struct errmsg err;
	json_t *status;

	cli_parse(&argp, argc, argv, &o);
	status = daemon_status(&o.daemon, path, &err);
	if (!status) {
		cli_error("%s", err.text);
		return CLI_FAILURE;
	}
	if (o.json)
		return cli_print_json(status);
	print_status(status);
	json_decref(status);
	return CLI_OK;
}
