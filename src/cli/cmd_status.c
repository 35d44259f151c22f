/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa status: what this node's poppad does now. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/daemon.h"

struct options {
	bool json;
	const char *node, *conf;
};

static const struct argp_option option_table[] = {
	{"node", 'N', "NAME", 0, "Slurm's name of the node, where several share the host", 0},
	{"conf", 'c', "FILE", 0, "Read this poppa.conf", 0}, CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'N':
		o->node = arg;
		return 0;
	case 'c':
		o->conf = arg;
		return 0;
	case CLI_OPT_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		cli_usage_error("\"%s\" is too much: only options are taken", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "?";
}

static json_int_t whole(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* NAN for null. */
static double real(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* Room for the longest form of every column below. */
struct cell {
	char text[128];
};

/* "-" for what is not known. */
static const char *number(struct cell *c, int digits, double v)
{
	if (isfinite(v))
		snprintf(c->text, sizeof(c->text), "%.*f", digits, v);
	else
		strcpy(c->text, "-");
	return c->text;
}

static const char *interval(struct cell *c, const json_t *ci)
{
	if (json_array_size(ci) == 2)
		snprintf(c->text, sizeof(c->text), "%.4f to %.4f",
			json_number_value(json_array_get(ci, 0)),
			json_number_value(json_array_get(ci, 1)));
	else
		strcpy(c->text, "-");
	return c->text;
}

static const char *list(struct cell *c, const json_t *ids)
{
	const json_t *id;
	size_t i, len = 0;

	strcpy(c->text, "-");
	json_array_foreach(ids, i, id)
	{
		int n = snprintf(c->text + len, sizeof(c->text) - len, "%s%" JSON_INTEGER_FORMAT,
			i ? "," : "", json_integer_value(id));

		if (n < 0 || (size_t)n >= sizeof(c->text) - len)
			break;
		len += (size_t)n;
	}
	return c->text;
}

static void print_job(const json_t *job)
{
	struct cell d, ci, co, solo, held, partners;

	printf("%10" JSON_INTEGER_FORMAT " %-10.10s %4" JSON_INTEGER_FORMAT
	       " %5" JSON_INTEGER_FORMAT " %-9s %-14s %11s  %-16s %7" JSON_INTEGER_FORMAT
	       " %9s %9s %8s  %s\n",
		whole(job, "job"), text_of(job, "user"), whole(job, "lane"), whole(job, "tasks"),
		text_of(job, "backend"), text_of(job, "state"),
		number(&d, 4, real(job, "degradation")),
		interval(&ci, json_object_get(job, "ci95")), whole(job, "used"),
		number(&co, 1, real(job, "co_s")), number(&solo, 1, real(job, "solo_s")),
		number(&held, 3, real(job, "paused_s")),
		list(&partners, json_object_get(job, "partners")));
}

static void print_totals(const json_t *status)
{
	const json_t *totals = json_object_get(status, "totals");
	struct cell seen, model;

	if (!totals)
		return;
	printf("shutters  %" JSON_INTEGER_FORMAT
	       "%s; held stopped %s %% of co-located time (model: %s "
	       "%%); longest stop %.2f ms\n",
		whole(totals, "shutters"),
		json_is_true(json_object_get(totals, "active")) ? "" : ", none now",
		number(&seen, 3, 100 * real(totals, "overhead")),
		number(&model, 3, 100 * real(totals, "overhead_model")),
		(double)whole(totals, "longest_stop_ns") / 1e6);
}

static void print_status(const json_t *status)
{
	const json_t *jobs = json_object_get(status, "jobs"), *job;
	size_t i;

	printf("node      %s, cluster %s\n", text_of(status, "node"), text_of(status, "cluster"));
	printf("poppad    %s, pid %" JSON_INTEGER_FORMAT, text_of(status, "version"),
		whole(status, "pid"));
	if (whole(status, "guard_pid"))
		printf(", guard %" JSON_INTEGER_FORMAT "\n", whole(status, "guard_pid"));
	else
		puts(", no guard: no shutters");
	if (json_is_true(json_object_get(status, "waiting_for_slurmd")))
		puts("          waits for slurmd with prep/poppa to tell it about the cluster");
	if (real(status, "hold_s") > 0)
		printf("          shutters are held off for another %.1f s\n",
			real(status, "hold_s"));
	printf("settings  %s\n", text_of(status, "settings"));
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

/* The daemon's answer, a new reference; NULL with err. */
static json_t *ask_status(const struct options *o, struct errmsg *err)
{
	char path[PATH_MAX], conf_path[PATH_MAX];
	const char *file = o->conf ? o->conf : nodeconf_path(conf_path, sizeof(conf_path));
	json_t *request, *reply, *problem;
	struct nodeconf conf;

	if (nodeconf_load(file, &conf, err) ||
		daemon_socket(&conf, o->node, path, sizeof(path), err))
		return NULL;
	request = json_pack("{s:s}", "op", "status");
	reply = daemon_ask(path, request, err);
	json_decref(request);
	problem = json_object_get(reply, "error");
	if (problem) {
		errmsg_set(err, "poppad at %s: %s", path,
			json_is_string(problem) ? json_string_value(problem) : "it refuses");
		json_decref(reply);
		return NULL;
	}
	return reply;
}

int cmd_status(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "What this node's poppad does now: settings, shutters, jobs and their "
		       "degradation. Users see their own jobs, root sees all."};
	struct options o = {.json = false};
	struct errmsg err;
	json_t *status;

	cli_parse(&argp, argc, argv, &o);
	status = ask_status(&o, &err);
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
