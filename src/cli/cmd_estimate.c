/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa estimate: degradation of the jobs in a shutter log. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/record/fields.h"
#include "cli/ask/cli.h"
#include "poppa/estimate/estimator.h"
#include "poppa/estimate/shutterlog.h"

/* The most lines that are printed about malformed rows, so that a broken file does not fill the
 * terminal. */
#define MAX_COMPLAINTS 20

struct options {
	bool json;
	enum estimate_method method;
	const char *file;
};

struct job {
	uint32_t id;
	struct estimator *estimator;
};

struct run {
	const struct options *options;
	const char *name;
	struct job *jobs; /* sorted by id */
	size_t count;
	uint64_t complaints;
};

static const struct argp_option option_table[] = {
	{"method", 'm', "NAME", 0,
		"robust (default), thesis (its Algorithm 4) or unfiltered (that without its filter)",
		0},
	CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'm':
		if (estimate_method_parse(arg, &o->method))
			cli_usage_error(
				"--method: \"%s\" is unknown: choose robust, thesis or unfiltered",
				arg);
		return 0;
	case ARGP_KEY_ARG:
		if (o->file)
			cli_usage_error("\"%s\" is too much: one shutter log at a time", arg);
		o->file = cli_path("FILE", arg);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

/* The job, which begins with this prior (NULL: the default) where it is new. NULL: out of memory.
 */
static struct job *find_job(struct run *run, uint32_t id, const struct slow_prior *prior)
{
	size_t lo = 0, hi = run->count;
	struct estimator *estimator;
	struct job *grown;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (run->jobs[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < run->count && run->jobs[lo].id == id)
		return &run->jobs[lo];
	grown = realloc(run->jobs, (run->count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	run->jobs = grown;
	estimator = estimator_new(run->options->method, prior);
	if (!estimator)
		return NULL;
	memmove(&grown[lo + 1], &grown[lo], (run->count - lo) * sizeof(*grown));
	grown[lo] = (struct job){id, estimator};
	run->count++;
	return &grown[lo];
}

static int take_block(uint32_t id, uint64_t block, const struct est_block *b, void *arg)
{
	struct job *job = find_job(arg, id, NULL);

	(void)block;
	if (!job)
		return ENOMEM;
	estimator_add(job->estimator, b);
	return 0;
}

static void take_prior(uint32_t id, const struct slow_prior *prior, void *arg)
{
	find_job(arg, id, prior);
}

static void complain(uint64_t line, const char *why, void *arg)
{
	struct run *run = arg;

	if (run->complaints++ < MAX_COMPLAINTS)
		cli_error("%s: line %" PRIu64 " skipped: %s", run->name, line, why);
}

static json_t *job_json(const struct job *job)
{
	struct est_result r;

	estimator_result(job->estimator, &r);
	return json_pack("{s:I, s:s, s:I, s:I, s:o, s:[o, o]}", "job", (json_int_t)job->id,
		"method", estimate_method_name(estimator_method(job->estimator)), "blocks",
		(json_int_t)r.blocks, "used", (json_int_t)r.used, "degradation",
		field_real_or_null(r.degradation), "ci95", field_real_or_null(r.lo),
		field_real_or_null(r.hi));
}

static int print_result(const struct run *run)
{
	if (run->options->json) {
		json_t *jobs = json_array();

		for (size_t i = 0; jobs && i < run->count; i++)
			json_array_append_new(jobs, job_json(&run->jobs[i]));
		return cli_print_json(json_pack("{s:o}", "jobs", jobs));
	}
	printf("%10s  %-10s %8s %8s  %11s  %s\n", "job", "method", "blocks", "used", "degradation",
		"95% interval");
	for (size_t i = 0; i < run->count; i++) {
		const struct job *job = &run->jobs[i];
		struct est_result r;

		estimator_result(job->estimator, &r);
		printf("%10" PRIu32 "  %-10s %8" PRIu64 " %8" PRIu64, job->id,
			estimate_method_name(estimator_method(job->estimator)), r.blocks, r.used);
		if (isnan(r.degradation))
			printf("  %11s\n", "unknown");
		else if (isnan(r.lo))
			printf("  %11.4f  unknown\n", r.degradation);
		else
			printf("  %11.4f  %.4f to %.4f\n", r.degradation, r.lo, r.hi);
	}
	return CLI_OK;
}

static int estimate_file(struct run *run)
{
	bool from_stdin = !strcmp(run->options->file, "-");
	struct shutterlog_count count;
	struct errmsg err;
	FILE *in = stdin;
	int rc;

	run->name = from_stdin ? "standard input" : run->options->file;
	if (!from_stdin && !(in = fopen(run->options->file, "re")))
		return cli_error("%s: %s", run->name, strerror(errno));
	rc = shutterlog_read(in, run->name, take_block, take_prior, complain, run, &count, &err);
	if (!from_stdin)
		fclose(in);
	if (run->complaints > MAX_COMPLAINTS)
		cli_error("%s: %" PRIu64 " more malformed lines skipped", run->name,
			run->complaints - MAX_COMPLAINTS);
	return rc ? cli_error("%s", rc > 0 ? strerror(rc) : err.text) : print_result(run);
}

int cmd_estimate(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "FILE",
		.doc = "Degradation of each job in a shutter log; FILE - is standard input."};
	struct options o = {.method = ESTIMATE_ROBUST};
	struct run run = {.options = &o};
	int rc;

	cli_parse(&argp, argc, argv, &o);
	if (!o.file)
		cli_usage_error("which shutter log? Name a file, or - for standard input");
	rc = estimate_file(&run);
	for (size_t i = 0; i < run.count; i++)
		estimator_free(run.jobs[i].estimator);
	free(run.jobs);
	return rc;
}
