/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa why: how the price of a job came about. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/ask/cli.h"
#include "cli/ask/sacct.h"
#include "cli/ask/wrap_text.h"
#include "cli/bills/find_run.h"
#include "cli/bills/why.h"

#define LINE_WIDTH 78
#define PLAIN_DAYS 30 /* before and after a job, in which its plain runs are looked for */

struct options {
	bool json;
	struct find_run run;
	const char *input, *conf;
};

enum { OPT_INPUT = CLI_OPT_FIRST };

static const struct argp_option option_table[] = {
	{"input", OPT_INPUT, "FILE", 0, "Read what sacct printed, instead of asking Slurm", 0},
	{"conf", 'c', "FILE", 0, "Read FILE instead of the default poppa.conf", 0}, CLI_JSON_OPTION,
	{0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_INPUT:
		o->input = cli_path("--input", arg);
		return 0;
	case 'c':
		o->conf = cli_path("--conf", arg);
		return 0;
	case ARGP_KEY_ARG:
		find_run_read(&o->run, arg);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

/* As sacct takes it: local time. */
static void write_time(char *text, size_t size, int64_t unix_s)
{
	time_t t = (time_t)unix_s;
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm))
		*text = '\0';
}

/* sacct matches whole names, and a comma would end one. Others than these are found by all the
 * names that the users' jobs have. */
static bool is_whole_name(const char *name)
{
	return *name && !strpbrk(name, "0123456789,\"'[]");
}

/* One or two of them, with a comma between. */
static void list(char *text, size_t size, const char *one, const char *other)
{
	int half = (int)size / 2 - 1;
	bool same = !strcmp(one, other);

	snprintf(text, size, "%.*s%s%.*s", half, one, same ? "" : ",", half, same ? "" : other);
}

/* Reads the plain runs of the job's user, and of its only partner's, from around the time at which
 * it ran. Nothing is known of them where sacct does not answer. */
static void read_plain(const struct why *w, struct bills *plain)
{
	const struct bill *b = w->bill, *p = bills_only_partner(w->bills, b);
	char users[256], names[1024], from[32], until[32];
	struct sacct_query query = {.start = from, .end = until, .user = users, .name = names};
	struct errmsg err;

	memset(plain, 0, sizeof(*plain));
	write_time(from, sizeof(from), b->start - PLAIN_DAYS * 86400);
	write_time(until, sizeof(until), b->end + PLAIN_DAYS * 86400);
	if (!*from || !*until)
		return;
	list(users, sizeof(users), b->user, p ? p->user : b->user);
	list(names, sizeof(names), b->name, p ? p->name : b->name);
	if (!is_whole_name(b->name) || (p && !is_whole_name(p->name)))
		query.name = NULL;
	if (sacct_bills(&query, plain, &err))
		memset(plain, 0, sizeof(*plain));
}

static int print_sentences(const struct why *w)
{
	json_t *list = why_sentences(w), *v;
	size_t i;

	if (!list)
		return cli_error("out of memory");
	json_array_foreach(list, i, v)
	{
		/* The arithmetic stands on a line of its own, so that it can be copied. */
		if (strstr(json_string_value(v), " x (1 - ") && strstr(json_string_value(v), " = "))
			printf("    %s\n", json_string_value(v));
		else
			wrap_text(stdout, json_string_value(v), LINE_WIDTH);
	}
	json_decref(list);
	return CLI_OK;
}

int cmd_why(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "JOBID[_TASK|+PART][.RUN]",
		.doc = "How the price of a co-located job came about: what was measured, beside "
		       "whom, and the arithmetic of the charge, in sentences to read or to quote. sacct "
		       "decides which jobs you may see."};
	struct options o = {.json = false};
	struct why w = {.restart = 0};
	struct bills bills, plain = {.count = 0};
	int rc;

	cli_parse(&argp, argc, argv, &o);
	if (find_run(&o.run, o.input, &bills, &w))
		return CLI_FAILURE;
	why_gather(&w, !o.input, o.conf);
	if (!o.input && why_compares(&w))
		read_plain(&w, &plain);
	if (why_compares(&w) && why_compare(&w, o.input ? &bills : &plain))
		rc = cli_error("out of memory");
	else
		rc = o.json ? cli_print_json(why_json(&w)) : print_sentences(&w);
	bills_free(&plain);
	find_run_free(&bills, &w);
	return rc;
}
