/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa overhead: what shutters cost, by the thesis' model. */
#include <stdio.h>

#include "cli/ask/cli.h"
#include "common/units.h"
#include "poppa/measure/overhead_model.h"

#define MAX_JOBS 1024

struct options {
	bool json;
	int64_t jobs, shutter_ns, period_ns; /* -1 where not given */
};

static const struct argp_option option_table[] = {
	{"jobs", 'n', "N", 0, "Jobs that share the node", 0},
	{"shutter", 's', "TIME", 0, "Shutter length S, such as 3200us", 0},
	{"period", 'p', "TIME", 0, "Period P between shutters, such as 200ms", 0}, CLI_JSON_OPTION,
	{0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'n':
		o->jobs = cli_int("--jobs", arg, 1, MAX_JOBS);
		return 0;
	case 's':
		o->shutter_ns = cli_duration("--shutter", arg, 0, INT64_MAX);
		return 0;
	case 'p':
		o->period_ns = cli_duration("--period", arg, 0, INT64_MAX);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

int cmd_overhead(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "Time that jobs spend stopped by shutters, and how much longer they take "
		       "(thesis, equations 3.9 and 3.10)."};
	struct options o = {.jobs = -1, .shutter_ns = -1, .period_ns = -1};
	struct overhead result;
	struct errmsg err;
	char loop[32];

	cli_parse(&argp, argc, argv, &o);
	if (o.jobs < 0 || o.shutter_ns < 0 || o.period_ns < 0)
		cli_usage_error("--jobs, --shutter and --period are all needed, such as "
				"--jobs 2 --shutter 3200us --period 200ms");
	if (overhead_model(o.jobs, o.shutter_ns, o.period_ns, &result, &err))
		cli_usage_error("%s", err.text);
	if (o.json)
		return cli_print_json(json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "jobs",
			(json_int_t)o.jobs, "shutter_s", (double)o.shutter_ns / 1e9, "period_s",
			(double)o.period_ns / 1e9, "paused_fraction", result.paused_fraction,
			"dilation", result.dilation, "loop_s", (double)result.loop_ns / 1e9));
	printf("held stopped        %.4f %% of the time\n", 100 * result.paused_fraction);
	printf("run time            %.6f times that without shutters\n", result.dilation);
	printf("every job measured  once in %s\n",
		units_format_duration(result.loop_ns, loop, sizeof(loop)));
	return CLI_OK;
}
