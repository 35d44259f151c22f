/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a document on how both estimators do on every family of synthetic jobs. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "gen/families.h"

struct options {
	int64_t seed, runs, family; /* family: -1 = all */
	double length_s;            /* 0 = all of them */
	const char *file;
};

/* Lengths of run, and runs of a family: all of it takes less than a minute. */
static const struct {
	double length_s;
	int runs;
} parts[] = {{60, 12}, {300, 12}, {1800, 4}};

static const struct argp_option option_table[] = {
	{"seed", 's', "N", 0, "First seed of a family (1)", 0},
	{"runs", 'r', "N", 0, "Runs of a family, 2 or 4 jobs each (12; 4 of 1800 s)", 0},
	{"length", 'L', "TIME", 0, "Length of a run (60s, 300s, 1800s)", 0},
	{"family", 'f', "N", 0, "The N-th family only, from 0", 0}, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct errmsg err;
	int64_t ns = 0;

	switch (key) {
	case 's':
		if (units_parse_int(arg, 0, INT32_MAX, &o->seed, &err))
			argp_error(state, "--seed: %s", err.text);
		return 0;
	case 'r':
		if (units_parse_int(arg, 1, 100000, &o->runs, &err))
			argp_error(state, "--runs: %s", err.text);
		return 0;
	case 'f':
		if (units_parse_int(arg, 0, gen_families() - 1, &o->family, &err))
			argp_error(state, "--family: %s", err.text);
		return 0;
	case 'L':
		if (units_parse_duration(arg, &ns, &err) || ns <= 0)
			argp_error(state, "--length: \"%s\" is no length of time", arg);
		o->length_s = (double)ns * 1e-9;
		return 0;
	case ARGP_KEY_ARG:
		if (o->file)
			argp_error(state, "one file at a time");
		o->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_row(
	FILE *out, const char *name, const struct gen_score *robust, const struct gen_score *thesis)
{
	double n = robust->jobs, m = thesis->jobs;

	fprintf(out, "| %s | %d | %.2f | %.2f | %+.4f | %.4f | %.0f | %.2f | %.2f | %.0f |\n", name,
		robust->jobs, 100 * robust->error / n, 100 * robust->worst, robust->bias / n,
		robust->width / n, 100 * robust->covered / n, 100 * thesis->error / m,
		100 * thesis->worst, 100 * thesis->covered / m);
}

static void print_head(FILE *out, double length_s)
{
	fprintf(out,
		"\n## Runs of %.0f s\n\n"
		"| family | jobs | robust: mean error %% | worst %% | bias of D | +- D | covered "
		"%% | thesis: mean error %% | worst %% | covered %% |\n"
		"| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n",
		length_s);
}

static int print_part(FILE *out, const struct options *o, double length_s, int runs)
{
	static const char *const names[] = {[GEN_USUAL] = "**all usual ones**",
		[GEN_SLOW] = "**all with a slow part**",
		[GEN_STEPS] = "**all with steps**"};
	struct gen_score all[3][2] = {{{0}}};

	print_head(out, length_s);
	for (int f = 0; f < gen_families(); f++) {
		struct gen_score score[2] = {{0}, {0}};

		if (o->family >= 0 && o->family != f)
			continue;
		for (int run = 0; run < runs; run++) {
			struct gen_spec spec;

			gen_family_spec(f, (uint64_t)(o->seed + run + 100003 * f), &spec);
			spec.length_s = length_s;
			if (gen_judge(&spec, ESTIMATE_ROBUST, &score[0]) ||
				gen_judge(&spec, ESTIMATE_THESIS, &score[1]))
				return -1;
		}
		print_row(out, gen_family(f)->name, &score[0], &score[1]);
		for (int m = 0; m < 2; m++)
			gen_add_score(&all[gen_family(f)->kind][m], &score[m]);
	}
	for (int kind = 0; kind < 3; kind++)
		if (all[kind][0].jobs)
			print_row(out, names[kind], &all[kind][0], &all[kind][1]);
	return 0;
}

static const char introduction[] =
	"# Accuracy of the estimators on synthetic jobs\n"
	"\n"
	"Written by `tests/gen/estimator_table docs/results/estimator.md`, which gives the same "
	"numbers on every machine;\n"
	"`--seed N` gives others. The jobs are made by `tests/gen/gen.c`, the families are in "
	"`tests/gen/families.c`. Unless a\n"
	"family says otherwise: 2 jobs, 3 phases that come round in about 8 s with degradations "
	"from 0 to 0.7, 5 % noise of a\n"
	"window, 2 % wild windows on either side, caches that refill and empty with a time "
	"constant of 0.3 ms, 2 % late wake-ups,\n"
	"S = 3.2 ms in 4 windows, P = 200 ms. For *robust* the first two windows after a shutter "
	"are one, as\n"
	"poppad reads them.\n"
	"\n"
	"- *error*: of the run time alone that follows from the estimate, |(1-D)/(1-D true) - "
	"1|.\n"
	"- *+- D*: half the 95 % interval. *covered*: intervals with the true D in them.\n"
	"- *robust* is the default method; *thesis* is algorithm 4, for which the interval is "
	"that of a ratio of sums.\n"
	"- *five phases in 2 s*, *rhythm near multiples of P* and *4 jobs ...* are bound by the "
	"number of samples: a job's\n"
	"  phases change from one of its blocks to the next, so every block is a draw. Longer "
	"runs make the error smaller.\n"
	"- *block rate by phase*: in one of two phases blocks come at an eighth of the rate; *by "
	"change*: at the full rate after\n"
	"  a change of phase and ever more seldom from then on, as an adaptive schedule has it.\n"
	"- *co-runner pauses*, *runs for ms*: it switches at random, for 1 to 20 ms at a time and "
	"5 to 50 % of it; each block is\n"
	"  a draw of one or two such stretches. *bursts of the job's own*: likewise it is up to "
	"1.5 times as fast or slow.\n"
	"- *a slow part*: up to half of what is lost comes back with a time constant of 2 to 200 "
	"ms, or evenly within 5 to 200\n"
	"  ms, and goes in the same way (*at once*: with the resume). These jobs have long blocks: of "
	"176 ms until the estimator\n"
	"  knows the pace, then of as much of it as tells most, and in phases that lose much. They hold "
	"the others for as long as\n"
	"  three of 176 ms and a thousandth of the time; poppad begins with two.\n"
	"- *steps*: the job works in steps of so long, each up to a quarter longer or shorter, and "
	"shows its progress in the\n"
	"  first 5 to 50 % of each, as counts of MPI calls do. Shutters see a share of a step, so one "
	"block says next to\n"
	"  nothing, and fast phases weigh more than slow ones. What counts here is that the interval "
	"says so.\n";

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "[FILE]",
		.doc = "Judges the estimators on jobs whose degradation is known; writes a "
		       "document to FILE or standard output."};
	struct options o = {.seed = 1, .family = -1};
	FILE *out = stdout;
	int rc = 0;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.file && !(out = fopen(o.file, "we"))) {
		fprintf(stderr, "%s: %s\n", o.file, strerror(errno));
		return 1;
	}
	fputs(introduction, out);
	for (size_t i = 0; !rc && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (o.length_s <= 0)
			rc = print_part(
				out, &o, parts[i].length_s, o.runs ? (int)o.runs : parts[i].runs);
	if (o.length_s > 0)
		rc = print_part(out, &o, o.length_s, o.runs ? (int)o.runs : parts[0].runs);
	if (rc)
		fprintf(stderr, "out of memory\n");
	if (fclose(out) && !rc) {
		fprintf(stderr, "%s: %s\n", o.file ? o.file : "standard output", strerror(errno));
		rc = -1;
	}
	return rc ? 1 : 0;
}
