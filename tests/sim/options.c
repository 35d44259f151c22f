/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the command line. */
#include "sim/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/keyval.h"
#include "common/units.h"
#include "sim/world/trace.h"

#define MOST_NODES 100000
#define MOST_JOBS 100000000
#define MOST_DEPTH 10000
#define MOST_LOAD 1000000

enum option_number {
	OPTION_TRACE = 1,
	OPTION_NODES,
	OPTION_MATRIX,
	OPTION_POLICY,
	OPTION_SEED,
	OPTION_JOBS,
	OPTION_JSON,
	OPTION_BACKFILL,
	OPTION_DEPTH,
	OPTION_PLAN,
	OPTION_SLIPS,
	OPTION_NOISE,
	OPTION_CAPPED,
	OPTION_CAP,
	OPTION_REQUEUE,
	OPTION_LOAD,
	OPTION_CONTROL,
	OPTION_SETTINGS,
	OPTION_DUMP,
	OPTION_NO_SHARE,
	OPTION_HISTORY,
	OPTION_HELP
};

static const struct option options[] = {
	{"trace", required_argument, NULL, OPTION_TRACE},
	{"nodes", required_argument, NULL, OPTION_NODES},
	{"matrix", required_argument, NULL, OPTION_MATRIX},
	{"policy", required_argument, NULL, OPTION_POLICY},
	{"seed", required_argument, NULL, OPTION_SEED},
	{"jobs", required_argument, NULL, OPTION_JOBS},
	{"json", no_argument, NULL, OPTION_JSON},
	{"backfill", required_argument, NULL, OPTION_BACKFILL},
	{"depth", required_argument, NULL, OPTION_DEPTH},
	{"plan", required_argument, NULL, OPTION_PLAN},
	{"slips", no_argument, NULL, OPTION_SLIPS},
	{"noise", required_argument, NULL, OPTION_NOISE},
	{"capped", required_argument, NULL, OPTION_CAPPED},
	{"cap", required_argument, NULL, OPTION_CAP},
	{"requeue", required_argument, NULL, OPTION_REQUEUE},
	{"load", required_argument, NULL, OPTION_LOAD},
	{"control", required_argument, NULL, OPTION_CONTROL},
	{"settings", required_argument, NULL, OPTION_SETTINGS},
	{"dump", required_argument, NULL, OPTION_DUMP},
	{"no-share", no_argument, NULL, OPTION_NO_SHARE},
	{"history", required_argument, NULL, OPTION_HISTORY},
	{"help", no_argument, NULL, OPTION_HELP},
	{NULL, 0, NULL, 0},
};

void options_help(void)
{
	puts("Usage: tests/sim/run --trace FILE.swf[.gz] --nodes N --matrix FILE.csv [OPTION]...\n"
	     "Simulates a cluster whose jobs come from a trace, under one policy after the other,\n"
	     "and prints what each does for throughput. docs/simulator.md explains the model.\n"
	     "\n"
	     "  --trace FILE      jobs, in the Standard Workload Format");
	printf("                    (this build %s .gz)\n",
		trace_reads_gzip() ? "reads" : "reads no");
	puts("  --nodes N         nodes of the machine, one for each processor of the trace\n"
	     "  --matrix FILE     speeds of programs beside each other: program,partner,speedup\n"
	     "  --policy LIST     names with commas; without it all of these:");
	for (int i = 0; i < policy_count; i++)
		printf("                      %-10s %s\n", policies[i].name, policies[i].what);
	puts("                    share_of_gain (gain %) needs random and optimal: where a policy\n"
	     "                    that shares nodes is listed, they are run as well, unprinted\n"
	     "  --no-share        leaves share_of_gain out (null), and runs only what is listed\n"
	     "  --seed N          which program each class of jobs is, and all else at random (1)\n"
	     "  --jobs N          only the first N jobs that ran\n"
	     "  --json            one JSON object in place of a table\n"
	     "  --backfill KIND   easy, or conservative, which takes much longer (easy)\n"
	     "  --depth N         waiting jobs that a pass looks at (100)\n"
	     "  --plan KIND       starts are planned by ends that are expected, or by limits as they\n"
	     "                    are (expected)\n"
	     "  --slips           also prints how much later jobs start than was planned\n"
	     "  --noise PCT       standard deviation of a run of a pair from the matrix, and of a\n"
	     "                    measurement (2%)\n"
	     "  --capped PCT      share of the jobs with --colocate=max-degradation (5%)\n"
	     "  --cap PCT         and its value (10%)\n"
	     "  --requeue PCT     share of the jobs that are requeued once while they run (0%)\n"
	     "  --load X          submissions come X times as fast (1)\n"
	     "  --control LIST    of " CONTROLS_NAMES ";\n"
	     "                    one at most of the first three\n"
	     "  --settings TEXT   stripe_ and poppa_ settings as in PrEpParameters\n"
	     "  --dump FILE       writes each run with its nodes to a CSV file\n"
	     "  --history FILE    a pair history, by which policies go that learn, and which stays as\n"
	     "                    it is; a class is UID/PROGRAM\n"
	     "  --help            this text\n"
	     "\n"
	     "An option with a value is given once at most. Without a terminal, standard error gets\n"
	     "a line about progress each minute.\n"
	     "\n"
	     "Exit status: 0 ok, 1 failure, 2 usage.");
}

static int read_int(const char *name, const char *text, int64_t least, int64_t most, int64_t *out,
	struct errmsg *err)
{
	struct errmsg why;

	if (units_parse_int(text, least, most, out, &why))
		return errmsg_set(err, "--%s: %s", name, why.text);
	return 0;
}

static int read_percent(const char *name, const char *text, double *out, struct errmsg *err)
{
	struct errmsg why;

	if (units_parse_percent(text, out, &why))
		return errmsg_set(err, "--%s: %s", name, why.text);
	return 0;
}

/* Refuses an empty list, and one with an empty item. */
static int check_list(const char *name, const char *text, struct errmsg *err)
{
	for (;; text++) {
		text += strspn(text, " \t");
		if (!*text || *text == ',')
			return errmsg_set(err,
				"--%s: an item of the list is empty: write items with one comma "
				"between two of them",
				name);
		text += strcspn(text, ",");
		if (!*text)
			return 0;
	}
}

static int read_policies(const char *text, struct options *o, struct errmsg *err)
{
	char name[32];

	o->policies = 0;
	while (*text) {
		size_t length = strcspn(text, ",");
		const struct policy *p;

		snprintf(name, sizeof(name), "%.*s", (int)length, text);
		p = policy_find(name);
		if (!p)
			return errmsg_set(err,
				"--policy %s is unknown: choose among those that --help lists",
				name);
		for (int i = 0; i < o->policies; i++)
			if (o->policy[i] == p)
				return errmsg_set(err, "--policy: %s is there twice", name);
		o->policy[o->policies++] = p;
		text += length + (text[length] == ',');
	}
	return 0;
}

static int read_backfill(const char *text, struct options *o, struct errmsg *err)
{
	o->conservative = !strcmp(text, "conservative");
	if (!o->conservative && strcmp(text, "easy"))
		return errmsg_set(
			err, "--backfill %s is unknown: choose easy or conservative", text);
	return 0;
}

static int read_plan(const char *text, struct options *o, struct errmsg *err)
{
	o->plan_by_limits = !strcmp(text, "limits");
	if (!o->plan_by_limits && strcmp(text, "expected"))
		return errmsg_set(err, "--plan %s is unknown: choose expected or limits", text);
	return 0;
}

static int read_load(const char *text, struct options *o, struct errmsg *err)
{
	struct errmsg why;

	if (units_parse_double(text, 0.001, MOST_LOAD, &o->workload.load, &why))
		return errmsg_set(err, "--load: %s", why.text);
	return 0;
}

/* In slurm.conf the keys of others are passed over; here nobody reads them. */
static int known_setting(
	const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	(void)value;
	(void)line;
	(void)arg;
	if (!strncasecmp(key, "poppa_", 6) || !strncasecmp(key, "stripe_", 7))
		return 0;
	return errmsg_set(err,
		"--settings: \"%s\" is unknown: the keys are those of poppad(8), which begin with "
		"poppa_ or stripe_",
		key);
}

static int read_settings(const char *text, struct options *o, struct errmsg *err)
{
	struct errmsg why = {""};

	if (keyval_list(text, known_setting, NULL, err))
		return -1;
	if (settings_parse(text, &o->settings, &why))
		return errmsg_set(err, "--settings: %s", why.text);
	if (o->settings.stripe_lanes != LANES || o->settings.stripe_match != MATCH_ANY)
		return errmsg_set(err, "--settings: the simulator knows stripe_lanes=2 and "
				       "stripe_match=any only: leave the others out");
	return 0;
}

static bool is_list(int option)
{
	return option == OPTION_POLICY || option == OPTION_CONTROL || option == OPTION_SETTINGS;
}

static int read_one(
	int option, const char *name, const char *text, struct options *o, struct errmsg *err)
{
	int64_t n = 0;
	int rc = 0;

	if (is_list(option) && check_list(name, text, err))
		return -1;
	if (text && !*text)
		return errmsg_set(err, "--%s: the value is empty: see --help", name);
	switch (option) {
	case OPTION_TRACE:
		o->trace = text;
		return 0;
	case OPTION_MATRIX:
		o->matrix = text;
		return 0;
	case OPTION_DUMP:
		o->dump = text;
		return 0;
	case OPTION_HISTORY:
		o->history = text;
		return 0;
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_HELP:
		o->help = true;
		return 0;
	case OPTION_SLIPS:
		o->slips = true;
		return 0;
	case OPTION_NO_SHARE:
		o->no_share = true;
		return 0;
	case OPTION_NODES:
		rc = read_int(name, text, 1, MOST_NODES, &n, err);
		o->nodes = (int)n;
		return rc;
	case OPTION_JOBS:
		rc = read_int(name, text, 1, MOST_JOBS, &n, err);
		o->jobs = (int)n;
		return rc;
	case OPTION_DEPTH:
		rc = read_int(name, text, 1, MOST_DEPTH, &n, err);
		o->depth = (int)n;
		return rc;
	case OPTION_SEED:
		rc = read_int(name, text, 0, INT64_MAX, &n, err);
		o->workload.seed = (uint64_t)n;
		return rc;
	case OPTION_POLICY:
		return read_policies(text, o, err);
	case OPTION_BACKFILL:
		return read_backfill(text, o, err);
	case OPTION_PLAN:
		return read_plan(text, o, err);
	case OPTION_NOISE:
		return read_percent(name, text, &o->noise, err);
	case OPTION_CAPPED:
		return read_percent(name, text, &o->workload.capped, err);
	case OPTION_CAP:
		return read_percent(name, text, &o->cap, err);
	case OPTION_REQUEUE:
		return read_percent(name, text, &o->workload.requeue, err);
	case OPTION_LOAD:
		return read_load(text, o, err);
	case OPTION_CONTROL:
		return controls_parse(text, &o->workload.controls, err);
	case OPTION_SETTINGS:
		return read_settings(text, o, err);
	default:
		return errmsg_set(err, "see tests/sim/run --help");
	}
}

static int check(struct options *o, struct errmsg *err)
{
	if (o->help)
		return 0;
	if (!o->trace)
		return errmsg_set(err, "--trace FILE.swf[.gz] is needed: the jobs");
	if (!o->matrix)
		return errmsg_set(err, "--matrix FILE.csv is needed: the speeds of programs beside "
				       "each other");
	if (!o->nodes)
		return errmsg_set(err, "--nodes N is needed: how many nodes the machine has");
	if (!(o->cap > 0))
		return errmsg_set(err, "--cap must be above 0: for no limits give --capped 0");
	if (o->workload.controls.zero)
		o->noise = 0;
	o->workload.nodes = o->nodes;
	return 0;
}

int options_read(int argc, char **argv, struct options *o, struct errmsg *err)
{
	bool given[OPTION_HELP + 1] = {false};
	int option, at = 0;

	*o = (struct options){.depth = 100,
		.noise = 0.02,
		.cap = 0.1,
		.workload = {.seed = 1, .load = 1, .capped = 0.05}};
	settings_defaults(&o->settings);
	for (int i = 0; i < policy_count; i++)
		o->policy[o->policies++] = &policies[i];
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, &at)) != -1) {
		if (option == '?')
			return errmsg_set(err,
				"%s is unknown or lacks its value: see "
				"tests/sim/run --help",
				argv[optind - 1]);
		/* Of flags two are as good as one. */
		if (optarg && given[option])
			return errmsg_set(err, "--%s is there twice: give it once%s",
				options[at].name,
				is_list(option) ? ", with commas between its items" : "");
		given[option] = true;
		if (read_one(option, options[at].name, optarg, o, err))
			return -1;
	}
	if (optind < argc)
		return errmsg_set(
			err, "%s: no arguments are known but options: see --help", argv[optind]);
	if (o->workload.controls.zero && given[OPTION_NOISE] && o->noise > 0)
		return errmsg_set(err, "--noise: under --control zero there is none: leave one of "
				       "them out");
	return check(o, err);
}
