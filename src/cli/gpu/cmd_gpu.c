/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa gpu: how many units of a graphics processor a program needs. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/cli.h"
#include "cli/ask/real_or_null.h"
#include "cli/gpu/sweep.h"
#include "common/fsio.h"
#include "common/keyval.h"
#include "common/units.h"
#include "gpu/gpu_curve.h"
#include "gpu/gpu_decide.h"
#include "gpu/gpu_energy.h"
#include "gpu/gpu_kept.h"
#include "striping/submit/colocate_option.h"
#include "trial/keeper.h"
#include "trial/tagged.h"

#define FILE_MAX (64 << 20)
#define EPS 0.02
#define ROUNDS 3
#define CUDA_UNITS "10-100:10"

struct options {
	bool json;
	enum gpu_goal goal;
	double eps;
	struct gpu_power power;
	const char *action, *file, *by, *units, *save, *name, *class_name;
	int64_t rounds;
	double whole; /* all units; 0: not known */
	char **command;
};

enum {
	OPT_EPS = CLI_OPT_FIRST,
	OPT_POWER,
	OPT_BY,
	OPT_UNITS,
	OPT_ROUNDS,
	OPT_SAVE,
	OPT_NAME,
	OPT_CLASS
};

static const char *const goals[] = {"time", "energy", "edp"};

static const struct argp_option option_table[] = {
	{"goal", 'g', "GOAL", 0,
		"time (the default): the fewest units that are nearly as fast as any; energy; or edp, energy times time",
		0},
	{"eps", OPT_EPS, "SHARE", 0, "What nearly is, such as 2% (the default)", 0},
	{"power", OPT_POWER, "KEY=W,...", 0,
		"decide: the model of power where no energy was measured: units, other, memory, idle, dynamic; see poppa(1)",
		0},
	{"by", OPT_BY, "WAY", 0,
		"sweep: how the program is told: cuda (MPS), amd, or the name of an environment variable; the default is what "
		"the machine has",
		0},
	{"units", OPT_UNITS, "LIST", 0,
		"sweep: how many, such as 4-44:4 or 1,2,4 (cuda: " CUDA_UNITS ", per cent)", 0},
	{"rounds", OPT_ROUNDS, "N", 0, "sweep: runs with each number, 3; their medians count", 0},
	{"save", OPT_SAVE, "FILE", 0, "sweep: also writes what was measured, for decide", 0},
	{"name", OPT_NAME, "NAME", 0, "sweep: of the program in the result", 0},
	{"class", OPT_CLASS, "NAME", 0,
		"sweep: keeps the answer for jobs of this class with sm:auto", 0},
	CLI_JSON_OPTION, {0}};

/* Whatever --colocate takes. */
static const char *class_name(const char *arg)
{
	struct colocate c = {.help = false};
	struct errmsg err = {""};
	char *text;

	if (asprintf(&text, "class:%s", arg) < 0)
		cli_usage_error("--class: no memory");
	if (colocate_parse(text, &c, &err) || strcmp(c.class_name, arg))
		cli_usage_error("--class: %s", *err.text ? err.text : "give one name");
	free(text);
	return arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct errmsg err;
	int goal;

	switch (key) {
	case 'g':
		goal = keyval_choice("--goal", arg, goals, 3, &err);
		if (goal < 0)
			cli_usage_error("%s", err.text);
		o->goal = (enum gpu_goal)goal;
		return 0;
	case OPT_EPS:
		if (units_parse_percent(arg, &o->eps, &err))
			cli_usage_error("--eps: %s", err.text);
		return 0;
	case OPT_POWER:
		if (gpu_power_parse(&o->power, arg, &err))
			cli_usage_error("--power: %s", err.text);
		return 0;
	case OPT_BY:
		o->by = arg;
		return 0;
	case OPT_UNITS:
		o->units = arg;
		return 0;
	case OPT_ROUNDS:
		o->rounds = cli_int("--rounds", arg, 1, 1000);
		return 0;
	case OPT_SAVE:
		o->save = cli_path("--save", arg);
		return 0;
	case OPT_NAME:
		if (!*arg || strpbrk(arg, ",\n#"))
			cli_usage_error("--name=%s: a name without commas, please", arg);
		o->name = arg;
		return 0;
	case OPT_CLASS:
		o->class_name = class_name(arg);
		return 0;
	case ARGP_KEY_ARG:
		if (!o->action) {
			o->action = arg;
		} else if (!strcmp(o->action, "sweep")) {
			/* All that is left is the command. */
			o->command = &state->argv[state->next - 1];
			state->next = state->argc;
		} else if (!o->file) {
			o->file = arg;
		} else {
			return cli_parse_rest(key, arg, &o->json);
		}
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

static json_t *program_json(const struct gpu_program *p, const struct gpu_decision *d)
{
	json_t *points = json_array();

	for (size_t i = 0; i < p->count; i++) {
		const struct gpu_point *at = &p->points[i];

		json_array_append_new(
			points, json_pack("{s:f, s:f, s:o, s:o}", "units", at->units, "seconds",
					at->seconds, "joules", real_or_null(at->joules), "edp",
					real_or_null(at->joules * at->seconds)));
	}
	return json_pack("{s:s, s:f, s:b, s:f, s:o, s:o, s:o, s:o, s:o}", "program", p->name,
		"units", d->point->units, "all", d->all, "seconds", d->point->seconds, "joules",
		real_or_null(d->point->joules), "time_saved", real_or_null(d->time_saved),
		"energy_saved", real_or_null(d->energy_saved), "edp_saved",
		real_or_null(d->edp_saved), "points", points);
}

static void print_share(double v)
{
	if (isnan(v))
		printf("  %11s", "-");
	else
		printf("  %+10.1f%%", 0.0 - 100 * v);
}

static void print_program(const struct gpu_program *p, const struct gpu_decision *d)
{
	printf("%-20s  %7g", p->name, d->point->units);
	print_share(d->time_saved);
	print_share(d->energy_saved);
	print_share(d->edp_saved);
	printf("%s\n", d->all ? "  wants all" : "");
}

/* As a share of all units, or of the most that were tried where nobody knows all; rounded up. */
static int keep(const struct options *o, const struct gpu_decision *d)
{
	double whole = o->whole > 0 ? o->whole : d->most->units;
	int percent = (int)ceil(100 * d->point->units / whole - 1e-9);
	struct errmsg err;
	char path[PATH_MAX];

	if (!gpu_kept_path(path, sizeof(path)))
		return cli_error("--class: there is no HOME to keep it in");
	return gpu_kept_put(path, o->class_name, percent, &err) ? cli_error("%s", err.text)
								: CLI_OK;
}

static int decide(const struct options *o, const char *name, const char *text)
{
	json_t *programs = json_array();
	struct gpu_curves curves;
	struct errmsg err;
	int rc = CLI_OK;

	if (gpu_curves_parse(&curves, name, text, &o->power, &err)) {
		json_decref(programs);
		return cli_error("%s", err.text);
	}
	if (!o->json)
		printf("%-20s  %7s  %11s  %11s  %11s\n", "PROGRAM", "UNITS", "TIME", "ENERGY",
			"EDP");
	for (size_t i = 0; i < curves.count; i++) {
		const struct gpu_program *p = &curves.programs[i];
		struct gpu_decision d;

		if (!gpu_decide(p, o->goal, o->eps, &d)) {
			cli_error(
				"%s: program \"%s\": its energy is not known with each number of units: add a column "
				"\"joules\" or \"activity\", or take --goal time",
				name, p->name);
			json_decref(programs);
			gpu_curves_release(&curves);
			return CLI_FAILURE;
		}
		if (o->json)
			json_array_append_new(programs, program_json(p, &d));
		else
			print_program(p, &d);
		if (o->class_name)
			rc = keep(o, &d);
	}
	gpu_curves_release(&curves);
	if (!o->json)
		json_decref(programs);
	else if (cli_print_json(json_pack("{s:s, s:f, s:o}", "goal", goals[o->goal], "eps", o->eps,
			 "programs", programs)))
		return CLI_FAILURE;
	return rc;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct sweep_work {
	struct options *o;
	struct sweep_plan *plan;
};

/* In the process that keeper_run() watches. Returns the exit status. */
static int sweep_and_decide(void *arg)
{
	const struct sweep_work *w = arg;
	struct errmsg err;
	char *text;
	int rc, saved;

	/* The library of NVIDIA's does not outlive a fork. */
	w->plan->energy = gpu_energy_open();
	text = sweep_run(w->plan, &err);
	gpu_energy_close(w->plan->energy);
	if (!text)
		return cli_error("%s", err.text);
	saved = w->plan->unsaved ? CLI_FAILURE : CLI_OK;
	if (w->o->save && !w->plan->save)
		saved = cli_output("--save", w->o->save, text, strlen(text), 0644);
	rc = decide(w->o, "the sweep", text);
	free(text);
	/* This process ends without what main() does. */
	if (fflush(stdout) || ferror(stdout))
		return cli_error("cannot write the result: %s", strerror(errno));
	return saved == CLI_OK ? rc : saved;
}

static int sweep(struct options *o)
{
	struct sweep_plan plan = {.rounds = (int)o->rounds, .command = o->command};
	struct gpu_energy *energy;
	char token[TAGGED_TOKEN_SIZE];
	struct errmsg err;
	int rc;

	if (gpu_way_find(o->by, &plan.way, &err))
		cli_usage_error("--by: %s", err.text);
	if (!o->units && strcmp(plan.way.name, "cuda"))
		cli_usage_error("--units: how many units are to be tried, such as --units 4-44:4?");
	if (sweep_units(&plan, o->units ? o->units : CUDA_UNITS, &err))
		cli_usage_error("--units: %s", err.text);
	plan.program = o->name ? o->name : base_name(o->command[0]);
	if (!*plan.program || strpbrk(plan.program, ",\n#"))
		cli_usage_error("\"%s\" has a comma in its name: give it another one with --name",
			plan.program);
	if (o->save && cli_output_check("--save", o->save))
		return CLI_FAILURE;
	/* A pipe or a device gets all at once, at the end. */
	if (o->save && strcmp(o->save, "-") && fsio_output_replaces(o->save))
		plan.save = o->save;
	energy = gpu_energy_open();
	gpu_energy_close(energy);
	if (o->goal != GPU_TIME && !energy)
		return cli_error(
			"--goal %s: nothing here tells energy: take --goal time", goals[o->goal]);
	if (!gpu_way_is_kept(&plan.way)) {
		cli_error(
			"CUDA's MPS daemon does not run here (nvidia-cuda-mps-control -d): without it "
			"each run uses the whole board, and the answer means nothing");
		if (o->class_name)
			return CLI_FAILURE;
	}
	o->whole = plan.way.most;
	tagged_token(token);
	plan.token = token;
	rc = keeper_run(token, sweep_and_decide, &(struct sweep_work){o, &plan}, &err);
	return rc < 0 ? cli_error("%s", err.text) : rc;
}

int cmd_gpu(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "decide FILE\nsweep -- COMMAND...",
		.doc = "With how many units of a graphics processor a program is nearly as fast as with all, or takes the "
		       "least energy: from runs that were measured (decide), or from runs of its own (sweep). The units that one "
		       "program does not need are for another."};
	struct options o = {.eps = EPS, .rounds = ROUNDS, .power = gpu_power_default};
	struct errmsg err;
	char *text;
	int rc;

	cli_parse(&argp, argc, argv, &o);
	if (o.action && !strcmp(o.action, "sweep")) {
		if (!o.command)
			cli_usage_error(
				"which program? Write it behind --, such as poppa gpu sweep -- ./program");
		return sweep(&o);
	}
	if (o.class_name)
		cli_usage_error("--class is for sweep");
	if (!o.action || strcmp(o.action, "decide"))
		cli_usage_error("which action? Choose one of decide FILE, sweep -- COMMAND");
	if (!o.file)
		cli_usage_error(
			"decide needs a file of what was measured, such as poppa gpu sweep --save writes");
	if (cli_regular(o.file, &err))
		return cli_error("%s", err.text);
	text = fsio_read(o.file, FILE_MAX, NULL, &err);
	if (!text)
		return cli_error("%s", err.text);
	rc = decide(&o, o.file, text);
	free(text);
	return rc;
}
