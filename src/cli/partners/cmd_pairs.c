/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa pairs: what kinds of jobs have cost each other, what is expected, who gains from spreading,
 * and what a cache miss costs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask/cli.h"
#include "cli/ask/real_or_null.h"
#include "cli/partners/import_trial.h"
#include "cli/partners/known_pairs.h"
#include "cli/partners/show_trials.h"
#include "common/printable.h"
#include "striping/history/miss_cost.h"
#include "striping/history/spread_gain.h"

#define SECONDS_AN_HOUR 3600.0

#define OPT_IMPORT CLI_OPT_FIRST
#define OPT_FORGET (CLI_OPT_FIRST + 1)

struct options {
	bool json, import;
	struct known_pairs_from from;
	const char *class[TRIAL_PROGRAMS_MAX];
	int classes;
	const char *forget, *input;
};

static const struct argp_option option_table[] = {KNOWN_PAIRS_HISTORY_OPTION,
	{"class", 'c', "NAME", 0,
		"Only this class, beside all others: also beside those that it has never met; with "
		"--import the class of a program, once for each, in the order of the trial",
		0},
	{"import", OPT_IMPORT, NULL, 0,
		"Instead of printing pairs, give slurmctld what \"poppa trial --json\" has printed, "
		"from FILE or standard input",
		0},
	{"forget", OPT_FORGET, "TRIAL", 0, "Take what such a trial has told away", 0},
	KNOWN_PAIRS_PROFILES_OPTION, KNOWN_PAIRS_SETTINGS_OPTION, KNOWN_PAIRS_TRIALS_OPTION,
	CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (known_pairs_option(key, arg, &o->from))
		return 0;
	switch (key) {
	case 'c':
		if (o->classes == TRIAL_PROGRAMS_MAX)
			cli_usage_error("--class: more than %d", TRIAL_PROGRAMS_MAX);
		o->class[o->classes++] = arg;
		return 0;
	case OPT_IMPORT:
		o->import = true;
		return 0;
	case OPT_FORGET:
		o->forget = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!o->input) {
			o->input = arg;
			return 0;
		}
		return cli_parse_rest(key, arg, &o->json);
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

struct listing {
	const struct known_pairs *known;
	const char *class; /* only of this one; NULL = all */
	int next;          /* of it, the class beside which it is shown next */
	json_t *list;      /* where JSON is wanted */
	int lines, gains, costs;
};

static double in_range(double d)
{
	return fmin(fmax(d, -1), 1);
}

/* One pair; row: what was measured of it, or NULL. */
static void show(
	struct listing *l, const char *job, const char *partner, const struct pairs_row *row)
{
	const struct expectation *e = l->known->expected;
	struct expected x =
		expectation_of(e, expectation_class(e, job), expectation_class(e, partner));
	double low = in_range(x.degradation - EXPECTED_90 * x.sd);
	double high = in_range(x.degradation + EXPECTED_90 * x.sd);
	double both = known_pairs_worth(l->known, job, partner);
	char class[PAIRS_CLASS_MAX], beside[PAIRS_CLASS_MAX];

	if (!known_pairs_shows(l->known, job) || !known_pairs_shows(l->known, partner))
		return;
	l->lines++;
	snprintf(class, sizeof(class), "%s", job);
	snprintf(beside, sizeof(beside), "%s", partner);
	plain_text(class);
	plain_text(beside);
	if (l->list) {
		json_array_append_new(
			l->list, json_pack("{s:s, s:s, s:o, s:i, s:f, s:i, s:f, s:[f, f], s:f}",
					 "class", class, "beside", beside, "measured",
					 row ? json_real(row->degradation) : json_null(), "runs",
					 row ? row->runs : 0, "hours",
					 row ? row->seconds / SECONDS_AN_HOUR : 0, "from_trials",
					 row ? row->trials : 0, "expected", x.degradation,
					 "expected90", low, high, "both", both));
		return;
	}
	if (l->lines == 1)
		printf("%-24s %-24s %8s %5s %7s %8s %15s %6s\n", "CLASS", "BESIDE", "MEASURED",
			"RUNS", "HOURS", "EXPECTED", "90%", "BOTH");
	printf("%-24s %-24s ", class, beside);
	if (row)
		printf("%7.1f%% %5d %7.1f", 100 * row->degradation, row->runs,
			row->seconds / SECONDS_AN_HOUR);
	else
		printf("%8s %5s %7s", "-", "-", "-");
	printf(" %7.1f%% %6.1f..%6.1f%% %6.2f%s\n", 100 * x.degradation, 100 * low, 100 * high,
		both, row && row->trials ? " trial" : "");
}

static void show_row(const struct pairs_row *row, void *arg)
{
	show(arg, row->job, row->partner, row);
}

/* One class beside all that there are: rows and classes are in the same order. */
static void show_beside(const struct pairs_row *row, void *arg)
{
	struct listing *l = arg;

	if (strcmp(row->job, l->class))
		return;
	while (strcmp(l->known->class[l->next], row -> partner) < 0)
		show(l, l->class, l->known->class[l->next++], NULL);
	show(l, l->class, l->known->class[l->next++], row);
}

static void show_class(struct listing *l)
{
	pairs_each(l->known->pairs, show_beside, l);
	while (l->next < l->known->classes)
		show(l, l->class, l->known->class[l->next++], NULL);
}

static json_t *gain_json(const char *class, const struct spread_gain *g)
{
	return json_pack("{s:s, s:o, s:o, s:s, s:i, s:i, s:s}", "class", class, "gain",
		real_or_null(g->gain), "error", real_or_null(g->error), "spread_class",
		spread_class_name(g->class), "plain_runs", g->plain, "colocated_runs", g->colocated,
		"doubt", spread_doubt_name(g->doubt));
}

/* Whether the caller may see the class; then class, of PAIRS_CLASS_MAX bytes, is its name to print.
 */
static bool shown_class(const struct listing *l, const char *name, char *class)
{
	if (!known_pairs_shows(l->known, name))
		return false;
	snprintf(class, PAIRS_CLASS_MAX, "%s", name);
	plain_text(class);
	return true;
}

/* A standard error as a share of the value; NAN: it is not known. */
static void print_error(double error)
{
	if (isnan(error))
		printf("%7s", "-");
	else
		printf("%6.1f%%", 100 * error);
}

/* The gain from spreading of one class. */
static void show_gain(const char *name, const struct spread_gain *g, void *arg)
{
	struct listing *l = arg;
	char class[PAIRS_CLASS_MAX];

	if (!shown_class(l, name, class))
		return;
	if (l->list) {
		json_array_append_new(l->list, gain_json(class, g));
		return;
	}
	if (!g->colocated)
		return;
	if (!l->gains++)
		printf("\n%-24s %8s %7s %-8s %5s %10s %s\n", "CLASS", "GAIN", "ERROR", "SPREAD",
			"PLAIN", "CO-LOCATED", "DOUBT");
	printf("%-24s ", class);
	if (isnan(g->gain))
		printf("%8s ", "-");
	else
		printf("%+7.1f%%%s", 100 * g->gain, g->doubt == SPREAD_SURE ? " " : "?");
	print_error(g->error);
	printf(" %-8s %5d %10d %s\n", spread_class_name(g->class), g->plain, g->colocated,
		spread_doubt_name(g->doubt));
}

/* Of the class, or of all that were co-located. */
static int show_gains(struct listing *l, bool one)
{
	struct spread_gain gain;

	if (!one)
		return spread_gains_each(pairs_spread(l->known->pairs), show_gain, l);
	pairs_spread_gain(l->known->pairs, l->class, &gain);
	show_gain(l->class, &gain, l);
	return 0;
}

static json_t *cost_json(const char *class, const struct miss_cost *c)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:s}", "class", class, "base_cycles",
		real_or_null(c->base_cycles), "base_error", real_or_null(c->base_error),
		"miss_cycles", real_or_null(c->miss_cycles), "miss_error",
		real_or_null(c->miss_error), "runs", c->runs, "doubt", miss_doubt_name(c->doubt));
}

static void print_cycles(double cycles, double error)
{
	printf(" %8.3g ", cycles);
	print_error(error);
}

/* What a miss costs one class. */
static void show_cost(const char *name, const struct miss_cost *c, void *arg)
{
	struct listing *l = arg;
	char class[PAIRS_CLASS_MAX];

	if (!shown_class(l, name, class))
		return;
	if (l->list) {
		json_array_append_new(l->list, cost_json(class, c));
		return;
	}
	if (!c->runs)
		return;
	if (!l->costs++)
		printf("\n%-24s %8s %7s %8s %7s %5s %s\n", "CLASS", "BASE", "ERROR", "MISS",
			"ERROR", "RUNS", "DOUBT");
	printf("%-24s", class);
	print_cycles(c->base_cycles, c->base_error);
	print_cycles(c->miss_cycles, c->miss_error);
	printf(" %5d %s\n", c->runs, miss_doubt_name(c->doubt));
}

/* Of the class, or of all of which it is known. */
static void show_costs(struct listing *l, bool one)
{
	struct miss_cost cost;

	if (!one) {
		miss_costs_each(pairs_misses(l->known->pairs), show_cost, l);
		return;
	}
	pairs_miss_cost(l->known->pairs, l->class, &cost);
	show_cost(l->class, &cost, l);
}

/* Prints what is known, of one class (NULL: all); class has it as the history names it. */
static int show_all(const struct known_pairs *known, const char *one, const char *class, bool json)
{
	struct listing l = {.known = known, .class = class};
	json_t *pairs, *classes, *costs;
	int rc;

	if (json)
		l.list = json_array();
	if (one)
		show_class(&l);
	else
		pairs_each(known->pairs, show_row, &l);
	if (!json && !l.lines)
		puts("The pair history has no pair yet.");
	pairs = l.list;
	if (json)
		l.list = json_array();
	rc = show_gains(&l, one);
	classes = l.list;
	if (json)
		l.list = json_array();
	show_costs(&l, one);
	costs = l.list;
	if (json)
		l.list = json_array();
	show_trials(known, one ? class : NULL, l.list);
	if (!rc && json)
		return cli_print_json(json_pack("{s:o, s:o, s:o, s:o}", "pairs", pairs, "classes",
			classes, "miss_costs", costs, "trials", l.list));
	return rc ? cli_error("out of memory") : CLI_OK;
}

static int show_pairs(const struct options *o)
{
	const char *one = o->classes ? o->class[0] : NULL;
	struct known_pairs known;
	char class[PAIRS_CLASS_MAX];
	struct errmsg err;
	int rc;

	if (known_pairs_load(&known, &o->from, &err))
		return cli_error("%s", err.text);
	if (one)
		known_pairs_class(&known, one, class);
	if (one && !known_pairs_has(&known, class))
		rc = cli_error("the pair history has no class \"%s\" that you may see; \"poppa "
			       "pairs\" lists them",
			one);
	else
		rc = show_all(&known, one, class, o->json);
	known_pairs_free(&known);
	return rc;
}

/* Refuses what no class of the history can be: names are plain there. */
static void check_class(const char *class)
{
	char plain[PAIRS_CLASS_MAX], shown[64];

	snprintf(plain, sizeof(plain), "%s", class);
	if (class_valid(class) && !strcmp(class_plain(plain), class))
		return;
	snprintf(shown, sizeof(shown), "%s", class);
	cli_usage_error("--class: \"%s\" is no class: name it as \"poppa pairs\" does, such as "
			"1000@lmp, with at most %d characters",
		plain_text(shown), PAIRS_CLASS_MAX - 1);
}

/* What is changed is the file of trials only. */
static int change_trials(const struct options *o)
{
	struct trial_import how = {.input = o->input,
		.trials = o->from.trials,
		.classes = o->classes,
		.json = o->json};

	if (o->import && o->forget)
		cli_usage_error("choose one of --import and --forget");
	if (o->from.history || o->from.profiles || o->from.settings)
		cli_usage_error("--history, --profiles and --settings do not go with --import and "
				"--forget");
	if (o->forget && (o->classes || o->input || o->json))
		cli_usage_error("--forget wants the trial alone, and prints nothing");
	for (int i = 0; i < o->classes; i++) {
		check_class(o->class[i]);
		how.class[i] = o->class[i];
	}
	return o->import ? import_trial(&how) : forget_trial(o->from.trials, o->forget);
}

int cmd_pairs(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "\n--import --class NAME --class NAME... [FILE]\n--forget TRIAL",
		.doc = "What kinds of jobs have cost each other, by the pair history, what is "
		       "expected of them, what they gain from spreading, and what a cache miss "
		       "costs them; or gives slurmctld what a trial has measured."};
	struct options o = {.json = false};

	cli_parse(&argp, argc, argv, &o);
	if (o.import || o.forget)
		return change_trials(&o);
	if (o.input)
		cli_usage_error("\"%.100s\" is too much: only options are taken", o.input);
	if (o.classes > 1)
		cli_usage_error("--class: one class, unless --import goes with it");
	if (o.classes)
		check_class(o.class[0]);
	return show_pairs(&o);
}
