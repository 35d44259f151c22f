/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa report: what co-located jobs were charged, and what they cost each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "accounting/bill/what_if.h"
#include "cli/ask/cli.h"
#include "cli/bills/report.h"
#include "cli/ask/sacct.h"
#include "common/printable.h"
#include "common/text_append.h"

#define DEFAULT_START "now-30days"
#define DEFAULT_WHAT_IF "thesis"

struct options {
	bool json, csv;
	enum summary_by by;
	struct sacct_query query;
	const char *input, *html, *history;
	bool what_if;
	struct price_policy policy; /* of what_if */
};

enum { OPT_JSON = CLI_OPT_FIRST, OPT_CSV, OPT_HTML, OPT_BY, OPT_INPUT, OPT_HISTORY, OPT_WHAT_IF };

static const struct argp_option option_table[] = {
	{"starttime", 'S', "TIME", 0,
		"Jobs that ran since then, as sacct has it (" DEFAULT_START ")", 0},
	{"endtime", 'E', "TIME", 0, "and before then (now)", 0},
	{"user", 'u', "LIST", 0, "Only these users' jobs", 0},
	{"accounts", 'A', "LIST", 0, "Only jobs of these accounts", 0},
	{"partition", 'r', "LIST", 0, "Only jobs of these partitions", 0},
	{"jobs", 'j', "LIST", 0, "Only these jobs, whenever they ran", 0},
	{"allusers", 'a', NULL, 0, "All jobs that sacct shows you; root's default", 0},
	{"by", OPT_BY, "WHAT", 0,
		"A line for each user (default), job, account, partition, qos, program or day", 0},
	{"input", OPT_INPUT, "FILE", 0, "Read what sacct printed, instead of asking it", 0},
	{"csv", OPT_CSV, NULL, 0, "Print CSV", 0},
	{"html", OPT_HTML, "FILE", 0,
		"Write a page with plots, whole in one file; \"-\" is standard output", 0},
	{"history", OPT_HISTORY, "FILE", 0,
		"With --html or --json: also what this pair history expects of pairs", 0},
	{"what-if", OPT_WHAT_IF, "POLICY", OPTION_ARG_OPTIONAL,
		"What would have been charged under this price policy, such as solo/cap=0.3 "
		"(" DEFAULT_WHAT_IF ")",
		0},
	{"json", OPT_JSON, NULL, 0, "Print JSON instead of text", 0}, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct errmsg err;

	switch (key) {
	case 'S':
		o->query.start = arg;
		return 0;
	case 'E':
		o->query.end = arg;
		return 0;
	case 'u':
		o->query.user = arg;
		return 0;
	case 'A':
		o->query.account = arg;
		return 0;
	case 'r':
		o->query.partition = arg;
		return 0;
	case 'j': /* as in sacct; --json has no short form here */
		o->query.jobs = arg;
		return 0;
	case 'a':
		o->query.all_users = true;
		return 0;
	case OPT_BY:
		o->by = summary_by_parse(arg);
		if (o->by == SUMMARY_KINDS)
			cli_usage_error(
				"--by: \"%s\" is none of user, job, account, partition, qos, "
				"program and day",
				arg);
		return 0;
	case OPT_INPUT:
		o->input = cli_path("--input", arg);
		return 0;
	case OPT_CSV:
		o->csv = true;
		return 0;
	case OPT_HTML:
		o->html = cli_path("--html", arg);
		return 0;
	case OPT_HISTORY:
		o->history = cli_path("--history", arg);
		return 0;
	case OPT_WHAT_IF:
		o->what_if = true;
		if (price_policy_parse(arg ? arg : DEFAULT_WHAT_IF, &o->policy, &err))
			cli_usage_error("--what-if: %s", err.text);
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

static void check_options(struct options *o)
{
	const struct sacct_query *q = &o->query;

	if (o->json + o->csv + (o->html != NULL) > 1)
		cli_usage_error("choose one of --json, --csv and --html");
	if (o->history && !o->json && !o->html)
		cli_usage_error("--history goes with --html or --json");
	if (o->input && (q->start || q->end || q->user || q->account || q->partition || q->jobs ||
				q->all_users))
		cli_usage_error(
			"--input takes all that is in the file: choose jobs when sacct writes it");
	if (q->user && q->all_users)
		cli_usage_error("choose one of --user and --allusers");
	if (geteuid() == 0 && !q->user)
		o->query.all_users = true;
	if (!q->start && !q->jobs)
		o->query.start = DEFAULT_START;
}

static void add_words(char *span, size_t size, const char *what, const char *value)
{
	if (value)
		text_append(span, size, "%s%s %s", *span ? ", " : "", what, value);
}

/* Says in words which jobs were asked for. */
static void write_span(const struct options *o, char *span, size_t size)
{
	const struct sacct_query *q = &o->query;

	*span = '\0';
	if (o->input) {
		add_words(span, size, "from", o->input);
		return;
	}
	add_words(span, size, "since", q->start);
	add_words(span, size, "until", q->end);
	add_words(span, size, "of users", q->user);
	add_words(span, size, "of accounts", q->account);
	add_words(span, size, "in partitions", q->partition);
	add_words(span, size, "with ids", q->jobs);
	if (!q->user && !q->all_users)
		add_words(span, size, "of", "your own");
}

static int write_page(const struct report *r, const char *path)
{
	mode_t mask = umask(0);
	char *page = NULL;
	size_t len;
	FILE *f;
	int rc;

	umask(mask);
	f = open_memstream(&page, &len);
	rc = f ? report_page(r, f) : -1;
	if (!f || fclose(f) || rc) {
		free(page);
		return cli_error("out of memory");
	}
	rc = cli_output("--html", path, page, len, 0666 & ~mask);
	free(page);
	return rc;
}

static int show(const struct options *o, const struct report *r)
{
	if (o->json)
		return cli_print_json(report_json(r));
	if (o->html)
		return write_page(r, o->html);
	if (o->csv)
		report_csv(r, stdout);
	else
		report_text(r, stdout);
	return CLI_OK;
}

int cmd_report(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "What co-located jobs were charged, instead of what, and what they cost "
		       "each other. sacct decides which jobs you may see; by default they are your own. "
		       "A job counts with all of its time."};
	struct options o = {.by = SUMMARY_USER};
	struct summary summary;
	struct report report;
	struct known_pairs known = {.pairs = NULL};
	struct known_pairs_from from = {.history = NULL};
	struct bills bills;
	struct errmsg err;
	char span[1024], policy[PRICE_MAX_TEXT];
	int rc;

	cli_parse(&argp, argc, argv, &o);
	check_options(&o);
	from.history = o.history;
	if (o.history && known_pairs_load(&known, &from, &err))
		return cli_error("%s", err.text);
	rc = o.input ? sacct_bills_of_file(o.input, &bills, &err)
		     : sacct_bills(&o.query, &bills, &err);
	if (rc) {
		known_pairs_free(&known);
		return cli_error("%s", err.text);
	}
	if (bills.malformed)
		cli_error("%d row%s left out; %s", bills.malformed,
			bills.malformed == 1 ? " is" : "s are", bills.first.text);
	if (o.what_if)
		bills_what_if(&bills, &o.policy);
	if (summary_make(&bills, o.by, &summary)) {
		known_pairs_free(&known);
		bills_free(&bills);
		return cli_error("out of memory");
	}
	write_span(&o, span, sizeof(span));
	plain_text(span);
	report = (struct report){&bills, &summary, o.by, span, (int64_t)time(NULL),
		o.history ? &known : NULL,
		o.what_if ? price_policy_format(&o.policy, policy) : NULL};
	rc = show(&o, &report);
	/* The sums lack some rows, so the exit status must not say that all is well. */
	if (bills.malformed)
		rc = CLI_FAILURE;
	summary_free(&summary);
	known_pairs_free(&known);
	bills_free(&bills);
	return rc;
}
