/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a shutter log of jobs whose true degradation is known, and prints the truth as JSON. */
#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "gen/gen.h"
#include "poppa/estimate/shutterlog.h"

#define FIRST_JOB 101
#define FIRST_TASK 5000

struct options {
	struct gen_spec spec;
	int64_t tasks;
	const char *file;
};

static const struct argp_option option_table[] = {
	{"seed", 's', "N", 0, "Same seed, same log (1)", 0},
	{"jobs", 'n', "N", 0, "Jobs that share the node (2)", 0},
	{"tasks", 't', "N", 0, "Tasks a job (1)", 0},
	{"phases", 'p', "N", 0, "Phases a job (3)", 0},
	{"cycle", 'y', "TIME", 0, "The phases come round in this time; 0 = once each (8s)", 0},
	{"d-min", 'a', "D", 0, "Least degradation of a phase (0)", 0},
	{"d-max", 'b', "D", 0, "Greatest degradation of a phase (0.7)", 0},
	{"noise", 'e', "X", 0, "Relative noise of a window (0.05)", 0},
	{"outliers", 'o', "X", 0, "Share of wild windows (0.02)", 0},
	{"tau", 'r', "TIME", 0, "Time constant of refill and decay (300us)", 0},
	{"late", 'l', "X", 0, "Share of late wake-ups (0.02)", 0},
	{"lost", 'm', "X", 0, "Share of missing windows (0)", 0},
	{"windows", 'k', "K", 0, "Sub-windows a region (4)", 0},
	{"shutter", 'S', "TIME", 0, "Length of a region (3200us)", 0},
	{"period", 'P', "TIME", 0, "Period (200ms)", 0},
	{"length", 'L', "TIME", 0, "Length of the run (300s)", 0},
	{"no-cycles", 'c', NULL, 0, "As from a backend without cycles", 0}, {0}};

static double real_option(const struct argp_state *state, const char *arg, double max)
{
	struct errmsg err;
	double v = 0;

	if (units_parse_double(arg, 0, max, &v, &err))
		argp_error(state, "%s", err.text);
	return v;
}

static int int_option(const struct argp_state *state, const char *arg, int64_t min, int64_t max)
{
	struct errmsg err;
	int64_t v = 0;

	if (units_parse_int(arg, min, max, &v, &err))
		argp_error(state, "%s", err.text);
	return (int)v;
}

static double time_option(const struct argp_state *state, const char *arg)
{
	struct errmsg err;
	int64_t ns = 0;

	if (units_parse_duration(arg, &ns, &err))
		argp_error(state, "%s", err.text);
	return (double)ns;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct gen_spec *s = &o->spec;

	switch (key) {
	case 's':
		s->seed = (uint64_t)int_option(state, arg, 0, INT32_MAX);
		return 0;
	case 'n':
		s->jobs = int_option(state, arg, 1, GEN_MAX_JOBS);
		return 0;
	case 't':
		o->tasks = int_option(state, arg, 1, 1024);
		return 0;
	case 'p':
		s->phases = int_option(state, arg, 1, GEN_MAX_PHASES);
		return 0;
	case 'y':
		s->cycle_s = time_option(state, arg) * 1e-9;
		return 0;
	case 'a':
		s->d_min = real_option(state, arg, 0.99);
		return 0;
	case 'b':
		s->d_max = real_option(state, arg, 0.99);
		return 0;
	case 'e':
		s->noise = real_option(state, arg, 10);
		return 0;
	case 'o':
		s->outliers = real_option(state, arg, 1);
		return 0;
	case 'r':
		s->tau_refill_ns = s->tau_decay_ns = time_option(state, arg);
		return 0;
	case 'l':
		s->late = real_option(state, arg, 1);
		return 0;
	case 'm':
		s->lost = real_option(state, arg, 1);
		return 0;
	case 'k':
		s->windows = int_option(state, arg, 1, EST_MAX_WINDOWS);
		return 0;
	case 'S':
		s->shutter_ns = time_option(state, arg);
		return 0;
	case 'P':
		s->period_ns = time_option(state, arg);
		return 0;
	case 'L':
		s->length_s = time_option(state, arg) * 1e-9;
		return 0;
	case 'c':
		s->cycles = false;
		return 0;
	case ARGP_KEY_ARG:
		if (o->file)
			argp_error(state, "one file at a time");
		o->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->file)
			argp_error(state, "which file?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Rows of one region; the tasks share its progress evenly. Returns the time after it. */
static uint64_t write_region(struct shutterlog_writer *log, struct shutter_row row,
	const struct est_window *w, int n, uint64_t start, uint64_t tasks)
{
	for (int k = 0; k < n; k++) {
		row.k = k;
		row.start_ns = start;
		row.dur_ns = (uint64_t)llround(w[k].dur_ns);
		start += row.dur_ns;
		for (uint64_t t = 0; t < tasks && !isnan(w[k].progress); t++) {
			uint64_t progress = (uint64_t)w[k].progress, cycles = (uint64_t)w[k].cycles;

			row.task = FIRST_TASK + t;
			row.progress = progress / tasks + (t < progress % tasks);
			row.cycles = cycles / tasks + (t < cycles % tasks);
			shutterlog_append(log, &row);
		}
	}
	return start;
}

static void write_block(struct shutterlog_writer *log, uint64_t number, uint32_t job,
	const struct est_block *b, uint64_t tasks)
{
	struct shutter_row row = {.block = number, .job = job, .region = SHUTTER_BEFORE};
	uint64_t during = write_region(log, row, b->before, b->before_n, b->start_ns, tasks), after;

	row.region = SHUTTER_DURING;
	after = write_region(log, row, b->during, b->during_n, during, tasks);
	if (b->during_n == 0)
		for (int k = 0; k < b->after_n; k++)
			after += (uint64_t)llround(b->before[k].dur_ns);
	row.region = SHUTTER_BEYOND;
	after = write_region(log, row, b->beyond, b->beyond_n, after, tasks);
	row.region = SHUTTER_AFTER;
	write_region(log, row, b->after, b->after_n, after, tasks);
}

static void print_truth(const struct gen *g, int jobs)
{
	printf("{\"jobs\": [");
	for (int i = 0; i < jobs; i++)
		printf("%s{\"job\": %d, \"degradation\": %.9f}", i ? ", " : "", FIRST_JOB + i,
			gen_truth(g, i));
	printf("]}\n");
}

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "FILE",
		.doc = "Writes a synthetic shutter log to FILE and prints the jobs' true "
		       "degradation as JSON."};
	struct options o = {.tasks = 1};
	struct est_block block[GEN_MAX_JOBS];
	struct shutterlog_writer *log;
	struct errmsg err = {""};
	struct gen *g;
	int alone, rc;

	gen_defaults(&o.spec);
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	remove(o.file);
	g = gen_new(&o.spec);
	log = g ? shutterlog_open(o.file, &err) : NULL;
	if (!log) {
		fprintf(stderr, "shutterlog_gen: %s\n", *err.text ? err.text : "spec out of range");
		gen_free(g);
		return EXIT_FAILURE;
	}
	for (uint64_t n = 0; gen_next(g, &alone, block); n++)
		for (int i = 0; i < o.spec.jobs; i++)
			write_block(log, n, FIRST_JOB + (uint32_t)i, &block[i], (uint64_t)o.tasks);
	print_truth(g, o.spec.jobs);
	rc = shutterlog_flush(log, &err);
	if (rc)
		fprintf(stderr, "shutterlog_gen: %s\n", err.text);
	shutterlog_close(log);
	gen_free(g);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
